// Timers: clients that are told of ticks while they are there, and agents that are told by mail.
import { E, Far } from '@endo/far';
import { connect } from './client.mjs';
import { almoner, equal, fails, lastMessage, newGuest, ok, place, sleep, start, stop, test } from './harness.mjs';

/** An object that is told of ticks, and what it was told. */
const listener = (answer = () => undefined) => {
  const ticks = [];
  const callback = Far('Listener', {
    onTick: tick => {
      ticks.push(tick);
      return answer(tick);
    },
  });
  return { ticks, callback };
};

/** Waits until something is so. */
const until = async (condition, what, seconds = 10) => {
  const end = Date.now() + seconds * 1000;
  while (!(await condition())) {
    ok(Date.now() < end, `it takes too long until ${what}`);
    await sleep(10);
  }
};

const ticksOf = messages => messages.filter(each => each.type === 'package' && each.names.includes('tick'));

test('timers: they say what they are', async client => {
  const { host } = await client();
  const timer = await E(host).makeTimer('plain', 1500, 'a label');
  equal(await E(timer).getLabel(), 'a label');
  equal(await E(timer).getInterval(), 1500);
  ok((await E(timer).help()).startsWith('EndoTimer:'), 'no help');
  ok((await E(timer).help('subscribe')).includes('onTick'), 'no help for subscribe');
  equal(await E(E(host).makeTimer('unlabelled', 1000)).getLabel(), 'unlabelled');
  ok((await E(host).lookup('plain')) === timer, 'another timer');
});

test('timers: what is no interval is refused', async client => {
  const { host } = await client();
  for (const wrong of [0, 9, -5, 1e15, Infinity, NaN]) {
    await fails(E(host).makeTimer('wrong', wrong), 'the interval must be');
  }
  await fails(E(host).makeTimer('wrong', 'soon'), 'Must be a number');
  equal(await E(host).has('wrong'), false);
});

test('timers: an object is called at each tick until it is not any more', async client => {
  const { host } = await client();
  const timer = await E(host).makeTimer('live', 30, 'tea');
  const { ticks, callback } = listener();
  const before = Date.now();
  equal(await E(timer).subscribe(callback), undefined);
  equal(await E(timer).subscribe(callback), undefined);
  await until(() => ticks.length >= 5, 'there are five ticks');
  equal(Object.keys(ticks[0]).sort(), ['label', 'tick', 'timestamp']);
  equal(ticks[0].label, 'tea');
  ok(ticks[0].timestamp >= before && ticks[0].timestamp <= Date.now(), 'another time');
  ticks.slice(1).forEach((tick, i) => ok(tick.tick > ticks[i].tick, 'a tick came twice'));
  await E(timer).unsubscribe(callback);
  await sleep(60);
  const { length } = ticks;
  await sleep(150);
  equal(ticks.length, length, 'ticks after the end');
});

test('timers: one that does not answer, or fails, holds nobody up', async client => {
  const { host } = await client();
  const timer = await E(host).makeTimer('slow', 20);
  const [slow, failing, other] = [
    listener(() => new Promise(() => {})),
    listener(() => {
      throw Error('no');
    }),
    listener(),
  ];
  for (const { callback } of [slow, failing, other]) {
    await E(timer).subscribe(callback);
  }
  await until(() => other.ticks.length >= 6 && failing.ticks.length >= 3, 'the others are told');
  equal(slow.ticks.length, 1, 'ticks for who has not answered');
});

test('timers: cancelling ends them for all', async client => {
  const { host } = await client();
  const timer = await E(host).makeTimer('ends', 20);
  const { ticks, callback } = listener();
  await E(timer).subscribe(callback);
  await until(() => ticks.length >= 2, 'it ticks');
  await E(host).cancel('ends');
  await sleep(60);
  const { length } = ticks;
  await sleep(100);
  equal(ticks.length, length, 'ticks after the end');
  await fails(E(timer).subscribe(callback), 'it was cancelled');
});

test('timers: a guest is told as long as its grant lasts', async client => {
  const { host } = await client();
  const { name, guest } = await newGuest(E, host);
  await E(host).makeTimer('given', 20);
  await E(host).send(name, ['a timer: ', ''], ['timer'], ['given']);
  await E(guest).adopt((await lastMessage(E, guest)).number, 'timer', 'mine');
  const timer = await E(guest).lookup('mine');
  const { ticks, callback } = listener();
  await E(timer).subscribe(callback);
  await until(() => ticks.length >= 2, 'it ticks');
  almoner('revoke', 'given');
  await sleep(60);
  const { length } = ticks;
  await sleep(100);
  equal(ticks.length, length, 'ticks after the end');
  await fails(E(timer).subscribe(callback), 'revoked');
});

test('timers: nobody else is told', async client => {
  const { host } = await client();
  const { name, guest } = await newGuest(E, host);
  const timer = await E(host).makeTimer('private', 1000);
  await fails(E(timer).subscribe(await E(host).lookup(name)), 'your own mail address');
  await fails(E(timer).subscribe(await E(host).makeDirectory('some-dir')), 'your own mail address');
  await fails(E(timer).subscribe('x'), 'Must be a remotable');
  await fails(E(guest).makeTimer('own', 1000), 'has no method');
});

test('timers: so many objects and no more', async client => {
  const { host } = await client();
  const timer = await E(host).makeTimer('many', 60_000);
  const callbacks = Array.from({ length: 64 }, () => listener().callback);
  await Promise.all(callbacks.map(callback => E(timer).subscribe(callback)));
  await fails(E(timer).subscribe(listener().callback), '64 objects');
  await E(timer).unsubscribe(callbacks[0]);
  await E(timer).subscribe(listener().callback);
});

test('timers: ticks for an agent are messages, also of the time when nobody ran', async client => {
  const { host } = await client();
  const { agent, guest } = await newGuest(E, host);
  await E(host).makeTimer('quick', 900);
  const quick = await E(host).lookup('quick');
  await fails(E(quick).subscribe(await E(host).handle()), '1000 milliseconds or more');
  const timer = await E(host).makeTimer('tea', 1000, 'tea');
  const { ticks, callback } = listener();
  await E(timer).subscribe(callback);
  await E(timer).subscribe(await E(host).handle());
  const told = async of => ticksOf(await E(of).listMessages());
  await until(async () => (await told(host)).length >= 2, 'two ticks were told');
  await until(() => ticks.length >= 2, 'the object is told as well');
  const messages = await told(host);
  ok(/^Tick [1-9]\d* of tea: $/.test(messages[0].strings[0]), messages[0].strings[0]);
  await E(host).adopt(messages[0].number, 'tick', 'first-tick');
  const first = await E(host).lookup('first-tick');
  equal(first, { label: 'tea', missed: 0, tick: first.tick, timestamp: first.timestamp });
  ok((await E(guest).listMessages()).length === 0 && agent, 'somebody else was told');
  const last = async of => E(of).lookup(['@mail', `${(await told(of)).at(-1).number}`, 'tick']);
  const before = await last(host);
  await stop('SIGKILL');
  await sleep(2500);
  await start();
  const again = await client();
  await until(async () => (await last(again.host)).missed > 0, 'the time between is told');
  const after = await last(again.host);
  // Whatever the disk kept when it was killed: no tick is lost, none is told twice.
  const all = [];
  for (const { number } of await told(again.host)) {
    all.push(await E(again.host).lookup(['@mail', `${number}`, 'tick']));
  }
  all.slice(1).forEach((each, i) => equal(each.tick - each.missed - 1, all[i].tick, 'the tick before'));
  ok(after.tick >= before.tick + 2, 'the number did not go on');
  await until(async () => (await last(again.host)).tick > after.tick, 'it goes on');
  // The object belonged to the connection that has gone.
  const { length } = ticks;
  await sleep(1200);
  equal(ticks.length, length, 'ticks for a client that has gone');
  const handle = await E(again.host).handle();
  await E(E(again.host).lookup('tea')).unsubscribe(handle);
  const { length: count } = await told(again.host);
  await sleep(1300);
  equal((await told(again.host)).length, count, 'ticks after the end');
});

test('timers: who is told by mail is told of the end', async client => {
  const { host } = await client();
  const { guest, name } = await newGuest(E, host);
  await E(host).makeTimer('far', 3_600_000, 'far');
  await E(host).send(name, ['a timer: ', ''], ['timer'], ['far']);
  await E(guest).adopt((await lastMessage(E, guest)).number, 'timer', 'far');
  await E(E(guest).lookup('far')).subscribe(await E(guest).handle());
  await E(host).cancel('far');
  const ended = async () => (await lastMessage(E, guest)).strings[0].startsWith('No more ticks come');
  await until(ended, 'the guest hears of it');
  ok((await lastMessage(E, guest)).strings[0].includes('cancelled'), 'another reason');
});

test('timers: by the command line', async client => {
  const { host } = await client();
  almoner('timer', 'standup', '1s', '--label', 'stand up');
  await until(async () => ticksOf(await E(host).listMessages()).some(({ strings }) => strings[0].includes('stand up')), 'it is told');
  ok(almoner('inbox', '--all', '--json').includes('stand up'), 'not in the inbox');
  almoner('timer', 'standup', '--off');
  almoner('timer', 'standup');
  almoner('cancel', 'standup');
  equal(await E(E(host).lookup('standup')).getInterval(), 1000);
});

test('timers: many clients that come and go leave nothing behind', async client => {
  const { host } = await client();
  await E(host).makeTimer('crowd', 10);
  for (let i = 0; i < 20; i += 1) {
    const gone = await connect(place.socket);
    const { ticks, callback } = listener();
    await E(E(gone.host).lookup('crowd')).subscribe(callback);
    await until(() => ticks.length >= 1, 'it ticks');
    await gone.close();
  }
  const { ticks, callback } = listener();
  await E(E(host).lookup('crowd')).subscribe(callback);
  await until(() => ticks.length >= 3, 'it ticks');
});

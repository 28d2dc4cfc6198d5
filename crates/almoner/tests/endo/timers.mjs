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
  const { name, agent, guest } = await newGuest(E, host);
  await E(host).makeTimer('quick', 900);
  const quick = await E(host).lookup('quick');
  await fails(E(quick).subscribe(await E(host).handle()), '1000 milliseconds or more');
  const timer = await E(host).makeTimer('tea', 1000, 'tea');
  const { ticks, callback } = listener();
  await E(timer).subscribe(callback);
  await E(host).send(name, ['a timer: ', ''], ['timer'], ['tea']);
  await E(guest).adopt((await lastMessage(E, guest)).number, 'timer', 'mine');
  await E(await E(guest).lookup('mine')).subscribe(await E(guest).handle());
  /** The ticks that an agent was told of, in order. */
  const told = async of => {
    const all = ticksOf(await E(of).listMessages());
    return Promise.all(all.map(({ number }) => E(of).lookup(['@mail', `${number}`, 'tick'])));
  };
  await until(async () => (await told(guest)).length >= 2, 'two ticks were told');
  await until(() => ticks.length >= 2, 'the object is told as well');
  const [message] = ticksOf(await E(guest).listMessages());
  ok(/^Tick [1-9]\d* of tea: $/.test(message.strings[0]), message.strings[0]);
  await E(guest).adopt(message.number, 'tick', 'first-tick');
  const first = await E(guest).lookup('first-tick');
  equal(first, { label: 'tea', missed: first.missed, tick: first.tick, timestamp: first.timestamp });
  equal(ticksOf(await E(host).listMessages()).length, 0, 'somebody else was told');
  const before = (await told(guest)).at(-1);
  await stop('SIGKILL');
  await sleep(2500);
  await start();
  const again = await client();
  const same = await E(again.host).lookup(agent);
  const since = async () => (await told(same)).filter(({ tick }) => tick > before.tick);
  await until(async () => (await since()).length >= 2, 'it goes on', 30);
  // Whatever the disk kept when it was killed: no tick is lost, none is told twice.
  const all = await told(same);
  all.slice(1).forEach((each, i) => equal(each.tick - each.missed - 1, all[i].tick, 'the tick before'));
  ok((await since()).some(({ missed }) => missed > 0), 'the time between is not told');
  // The object belonged to the connection that has gone.
  const { length } = ticks;
  await sleep(1200);
  equal(ticks.length, length, 'ticks for a client that has gone');
  await E(await E(same).lookup('mine')).unsubscribe(await E(same).handle());
  const { length: count } = await told(same);
  await sleep(1300);
  equal((await told(same)).length, count, 'ticks after the end');
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
  const clockmaker = await E(host).provideHost('clockmaker', { agentName: 'clockmaker-agent' });
  const as = (...args) => almoner('--as', 'clockmaker-agent', ...args);
  as('timer', 'standup', '1s', '--label', 'stand up');
  const told = async () => ticksOf(await E(clockmaker).listMessages());
  await until(async () => (await told()).length > 0, 'it is told');
  const [{ number, strings }] = await told();
  ok(strings[0].includes('stand up'), strings[0]);
  ok(as('inbox', `${number}`).includes('stand up'), 'not in the inbox');
  as('timer', 'standup', '--off');
  as('timer', 'standup');
  as('cancel', 'standup');
  equal(await E(E(clockmaker).lookup('standup')).getInterval(), 1000);
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

// Iterators over what comes.
import { E } from '@endo/far';
import { equal, fails, isPending, newGuest, ok, test } from './harness.mjs';

const next = async iterator => {
  const { value, done } = await E(iterator).next();
  equal(done, false, 'done');
  return value;
};

test('follow: names of a directory', async client => {
  const { bootstrap, host } = await client();
  const node = await E(bootstrap).nodeId();
  const directory = await E(host).makeDirectory('followed');
  await E(host).storeValue(1, ['followed', 'before']);
  const changes = await E(directory).followNameChanges();
  ok(String(changes).includes('AsyncIterator'), String(changes));
  const first = await next(changes);
  equal(first.add, 'before');
  equal(`${first.value.number}:${first.value.node}`, await E(host).identify('followed', 'before'));
  equal(first.value.node, node);
  const waiting = next(changes);
  ok(await isPending(waiting), 'something came');
  await E(host).storeValue(2, ['followed', 'new']);
  equal((await waiting).add, 'new');
  await E(host).remove('followed', 'new');
  equal(await next(changes), { remove: 'new' });
});

test('follow: what comes and goes before it is asked for is told in order', async client => {
  const { host } = await client();
  const directory = await E(host).makeDirectory('busy');
  const changes = await E(directory).followNameChanges();
  await E(host).storeValue(1, ['busy', 'a']);
  await E(host).storeValue(2, ['busy', 'a']);
  await E(host).move(['busy', 'a'], ['busy', 'b']);
  await E(host).remove('busy', 'b');
  const told = [];
  for (let i = 0; i < 6; i += 1) {
    const { add, remove } = await next(changes);
    told.push(add ? `+${add}` : `-${remove}`);
  }
  equal(told.slice(0, 3), ['+a', '-a', '+a']);
  equal(told.slice(3).sort(), ['+b', '-a', '-b']);
});

test('follow: names of an agent begin with all', async client => {
  const { host } = await client();
  const { guest } = await newGuest(E, host);
  const changes = await E(guest).followNameChanges();
  const names = [];
  for (let i = 0; i < 4; i += 1) {
    names.push((await next(changes)).add);
  }
  equal(names, ['@agent', '@host', '@mail', '@self']);
  const waiting = next(changes);
  await E(guest).storeValue(1, 'own');
  equal((await waiting).add, 'own');
});

test('follow: names of one thing', async client => {
  const { host } = await client();
  await E(host).storeValue(1, 'thing');
  const locator = await E(host).locate('thing');
  const changes = await E(host).followLocatorNameChanges(locator);
  equal(await next(changes), { add: locator, names: ['thing'] });
  await E(host).copy(['thing'], ['thing-2']);
  equal(await next(changes), { add: locator, names: ['thing-2'] });
  await E(host).remove('thing');
  equal(await next(changes), { names: ['thing'], remove: locator });
  await E(host).remove('thing-2');
  equal(await next(changes), { remove: locator });
  await fails(E(host).followLocatorNameChanges(locator), '');
});

test('follow: messages, old and new', async client => {
  const { host } = await client();
  const { name, guest } = await newGuest(E, host);
  await E(host).send(name, ['old'], [], []);
  const messages = await E(guest).followMessages();
  const old = await next(messages);
  equal([old.number, old.strings], [0n, ['old']]);
  const waiting = next(messages);
  ok(await isPending(waiting), 'something came');
  await E(host).send(name, ['new'], [], []);
  const fresh = await waiting;
  equal([fresh.number, fresh.strings], [1n, ['new']]);
  await E(fresh.dismisser).dismiss();
  equal((await E(guest).listMessages()).length, 1);
});

test('follow: a request is followed and answered', async client => {
  const { host } = await client();
  const { guest } = await newGuest(E, host);
  const messages = await E(guest).followMessages();
  const answer = E(guest).request('@host', 'followed');
  const own = await next(messages);
  equal(own.type, 'request');
  ok(await isPending(own.settled), 'settled');
  const { number } = (await E(host).listMessages()).at(-1);
  await E(host).storeValue('followed', 'followed-answer');
  await E(host).resolve(number, 'followed-answer');
  equal([await answer, await own.settled], ['followed', 'fulfilled']);
});

test('follow: left by return', async client => {
  const { host } = await client();
  const messages = await E(host).followMessages();
  equal(await E(messages).return(), { done: true, value: undefined });
  equal(await E(messages).next(), { done: true, value: undefined });
});

test('follow: several calls of next wait in order', async client => {
  const { host } = await client();
  const { name, guest } = await newGuest(E, host);
  const messages = await E(guest).followMessages();
  const waiting = [next(messages), next(messages), next(messages)];
  for (const text of ['a', 'b', 'c']) {
    await E(host).send(name, [text], [], []);
  }
  equal((await Promise.all(waiting)).map(({ strings }) => strings[0]), ['a', 'b', 'c']);
});

test('follow: what an iterator gives is what the calls before it have done', async client => {
  const { host } = await client();
  const order = [];
  const note = (what, promise) => promise.then(value => order.push(what) && value);
  const directory = E(host).makeDirectory('in-order');
  const changes = await E(directory).followNameChanges();
  const stored = ['a', 'b', 'c'].map(name => note(name, E(host).storeValue(name, ['in-order', name])));
  const told = ['a', 'b', 'c'].map(name => note(`told ${name}`, next(changes)));
  await Promise.all(stored);
  equal((await Promise.all(told)).map(({ add }) => add), ['a', 'b', 'c']);
  equal(order, ['a', 'b', 'c', 'told a', 'told b', 'told c']);
});

test('follow: a hundred clients hear of one name', async client => {
  const { host } = await client();
  await E(host).makeDirectory('popular');
  const clients = await Promise.all(Array.from({ length: 100 }, () => client()));
  const waiting = await Promise.all(
    clients.map(async each => {
      const changes = await E(E(each.host).lookup('popular')).followNameChanges();
      return next(changes);
    }).map(promise => [promise]),
  ).then(all => all.map(([promise]) => promise));
  await Promise.all(clients.map(each => E(each.bootstrap).ping()));
  await E(host).storeValue(1, ['popular', 'news']);
  equal((await Promise.all(waiting)).every(({ add }) => add === 'news'), true);
});

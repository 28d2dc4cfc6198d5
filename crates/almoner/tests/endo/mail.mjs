// Mail without questions.
import { E } from '@endo/far';
import { equal, fails, isPending, lastMessage, newGuest, ok, test } from './harness.mjs';

test('mail: a package arrives in both mailboxes', async client => {
  const { host } = await client();
  const { name, guest } = await newGuest(E, host);
  await E(host).storeValue({ price: 3n }, 'offer');
  await E(host).send(name, ['Look at ', ', please'], ['thing'], ['offer']);
  const message = await lastMessage(E, guest);
  equal(message.type, 'package');
  equal(message.number, 0n);
  equal(message.strings, ['Look at ', ', please']);
  equal(message.names, ['thing']);
  ok(/^endo:\/\/[0-9a-f]{64}\/\?id=[0-9a-f]{64}&type=marshal$/.test(message.ids[0]), message.ids[0]);
  ok(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(message.date), message.date);
  equal(message.from, await E(guest).locate('@host'));
  equal(message.to, await E(guest).locate('@self'));
  const copy = await lastMessage(E, host);
  equal(copy.messageId, message.messageId);
});

test('mail: adopt', async client => {
  const { host } = await client();
  const { name, guest } = await newGuest(E, host);
  await E(host).storeValue('adopted', 'to-adopt');
  await E(host).send(name, ['', ''], ['it'], ['to-adopt']);
  await E(guest).adopt(0n, 'it', 'mine');
  equal(await E(guest).lookup('mine'), 'adopted');
  await fails(E(guest).adopt(0n, 'other', 'x'), 'other');
  await fails(E(guest).adopt(7n, 'it', 'x'), '7');
});

test('mail: what is sent can be read as a directory', async client => {
  const { host } = await client();
  const { name, guest } = await newGuest(E, host);
  await E(host).storeValue('in mail', 'to-mail');
  await E(host).send(name, ['', ''], ['it'], ['to-mail']);
  equal(await E(guest).list('@mail'), ['0']);
  equal(await E(guest).lookup(['@mail', '0', '@type']), 'package');
  equal(await E(guest).lookup(['@mail', '0', '@strings']), ['', '']);
  equal(await E(guest).lookup(['@mail', '0', 'it']), 'in mail');
  const message = await E(guest).lookup(['@mail', '0']);
  equal(await E(message).lookup('it'), 'in mail');
});

test('mail: dismiss', async client => {
  const { host } = await client();
  const { name, guest } = await newGuest(E, host);
  await E(host).send(name, ['one'], [], []);
  await E(host).send(name, ['two'], [], []);
  await E(guest).dismiss(0n);
  equal((await E(guest).listMessages()).map(({ number }) => number), [1n]);
  const { dismisser, dismissed } = await lastMessage(E, guest);
  ok(await isPending(dismissed), 'dismissed already');
  await E(dismisser).dismiss();
  equal(await dismissed, undefined);
  equal(await E(guest).listMessages(), []);
  await fails(E(guest).dismiss(9n), '9');
});

test('mail: dismiss all', async client => {
  const { host } = await client();
  const { name, guest } = await newGuest(E, host);
  for (const text of ['one', 'two', 'three']) {
    await E(host).send(name, [text], [], []);
  }
  await E(guest).dismissAll();
  equal(await E(guest).listMessages(), []);
});

test('mail: reply goes to the other party', async client => {
  const { host } = await client();
  const { name, guest } = await newGuest(E, host);
  await E(host).send(name, ['hello?'], [], []);
  await E(guest).reply(0n, ['hello!'], [], []);
  const reply = await lastMessage(E, host);
  equal(reply.strings, ['hello!']);
  const question = await lastMessage(E, guest).then(() => E(guest).listMessages());
  equal(reply.replyTo, question[0].messageId);
});

test('mail: send with a reply', async client => {
  const { host } = await client();
  const { name, guest } = await newGuest(E, host);
  await E(host).send(name, ['first'], [], []);
  await E(guest).send('@host', ['second'], [], [], 0n);
  const [first, second] = await E(guest).listMessages();
  equal(second.replyTo, first.messageId);
});

test('mail: a value is handed over', async client => {
  const { host } = await client();
  const { name, guest } = await newGuest(E, host);
  await E(guest).send('@host', ['give me something'], [], []);
  const { number } = await lastMessage(E, host);
  await E(host).storeValue('something', 'given');
  await E(host).sendValue(number, 'given');
  const message = await lastMessage(E, guest);
  equal(message.type, 'value');
  ok(/^[0-9a-f]{64}:[0-9a-f]{64}$/.test(message.valueId), message.valueId);
  await E(guest).adopt(message.number, 'value', 'got');
  equal(await E(guest).lookup('got'), 'something');
  ok(name, 'a name');
});

test('mail: what is wrong with a package', async client => {
  const { host } = await client();
  const { name } = await newGuest(E, host);
  await fails(E(host).send(name, ['a', 'b'], ['x'], []), '');
  await fails(E(host).send('nobody', ['a'], [], []), 'Unknown pet name: "nobody"');
  await fails(E(host).send(name, ['a', ''], ['x'], ['nothing']), 'Unknown pet name: "nothing"');
  await fails(E(host).send(name, 'a', [], []), 'In "send" method of (EndoHost): arg 1');
});

test('mail: a sender cannot be forged', async client => {
  const { host } = await client();
  const { guest } = await newGuest(E, host);
  await fails(E(guest).deliver({ type: 'package' }), 'not allowed');
});

test('mail: between two guests', async client => {
  const { host } = await client();
  const a = await newGuest(E, host);
  const b = await newGuest(E, host);
  await E(host).send(a.name, ['meet ', ''], ['friend'], [b.name]);
  await E(a.guest).adopt(0n, 'friend', 'friend');
  await E(a.guest).storeValue('from a', 'present');
  await E(a.guest).send('friend', ['for you: ', ''], ['present'], ['present']);
  await E(b.guest).adopt(0n, 'present', 'present');
  equal(await E(b.guest).lookup('present'), 'from a');
});

test('mail: a thousand messages are listed', async client => {
  const { host } = await client();
  const { name, guest } = await newGuest(E, host);
  for (let sent = 0; sent < 1000; sent += 100) {
    await Promise.all(Array.from({ length: 100 }, (_, i) => E(host).send(name, [`${sent + i}`], [], [])));
  }
  const messages = await E(guest).listMessages();
  equal(messages.length, 1000);
  // In the order in which they were sent.
  ok(messages.every(({ strings, number }, i) => strings[0] === `${i}` && number === BigInt(i)), 'out of order');
});

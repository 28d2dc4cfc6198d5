// Questions: requests, forms, definitions, evaluations. Each gives a promise; nothing is held up by it.
import fs from 'node:fs';
import path from 'node:path';
import { E } from '@endo/far';
import { M } from '@endo/patterns';
import {
  almoner,
  equal,
  fails,
  inFolder,
  isPending,
  lastMessage,
  model,
  newGuest,
  ok,
  place,
  sleep,
  start,
  stop,
  test,
} from './harness.mjs';

test('request: resolved with a value', async client => {
  const { host } = await client();
  const { guest } = await newGuest(E, host);
  const answer = E(guest).request('@host', 'a number, please');
  ok(await isPending(answer), 'answered at once');
  const message = await lastMessage(E, host);
  equal(message.type, 'request');
  equal(message.description, 'a number, please');
  ok(/type=promise$/.test(message.promiseId), message.promiseId);
  await E(host).storeValue(42, 'answer');
  await E(host).resolve(message.number, 'answer');
  equal(await answer, 42);
  equal(await message.settled, 'fulfilled');
});

test('request: resolved with an object', async client => {
  const { host } = await client();
  const { guest } = await newGuest(E, host);
  const answer = E(guest).request('@host', 'a directory, please', 'directory');
  // Pipelined: asked of what is not there yet.
  const names = E(answer).list();
  await E(host).makeDirectory('requested');
  await E(host).storeValue(1, ['requested', 'x']);
  await E(host).resolve((await lastMessage(E, host)).number, 'requested');
  equal(await names, ['x']);
  equal(await E(E(guest).lookup('directory')).list(), ['x']);
});

test('request: rejected with a reason', async client => {
  const { host } = await client();
  const { guest } = await newGuest(E, host);
  const answer = E(guest).request('@host', 'everything, please');
  await isPending(answer.catch(() => {}));
  const message = await lastMessage(E, host);
  await E(host).reject(message.number, 'certainly not');
  await fails(answer, 'certainly not', 'Error');
  equal(await message.settled, 'rejected');
});

test('request: rejected without a reason', async client => {
  const { host } = await client();
  const { guest } = await newGuest(E, host);
  const answer = E(guest).request('@host', 'x');
  answer.catch(() => {});
  await isPending(answer.catch(() => 0));
  await E(host).reject((await lastMessage(E, host)).number);
  await fails(answer, 'Declined');
});

test('request: the same call under the same name attaches', async client => {
  const { host } = await client();
  const { guest } = await newGuest(E, host);
  const one = E(guest).request('@host', 'once', 'kept');
  const two = E(guest).request('@host', 'once', 'kept');
  ok(await isPending(one), 'answered');
  equal((await E(guest).listMessages()).length, 1);
  await E(host).storeValue('both', 'for-both');
  await E(host).resolve((await lastMessage(E, host)).number, 'for-both');
  equal([await one, await two], ['both', 'both']);
  equal(await E(guest).request('@host', 'once', 'kept'), 'both');
  await fails(E(guest).request('@host', 'something else', 'kept'), '');
});

test('request: looking up its name waits for the answer', async client => {
  const { host } = await client();
  const { guest } = await newGuest(E, host);
  E(guest).request('@host', 'later', 'later').catch(() => {});
  await isPending(E(guest).list());
  const found = E(guest).lookup('later');
  ok(await isPending(found), 'there already');
  await E(host).storeValue('now', 'now');
  await E(host).resolve((await lastMessage(E, host)).number, 'now');
  equal(await found, 'now');
});

test('request: a second answer changes nothing', async client => {
  const { host } = await client();
  const { guest } = await newGuest(E, host);
  const answer = E(guest).request('@host', 'x');
  await isPending(answer);
  const { number } = await lastMessage(E, host);
  await E(host).storeValue('first', 'first');
  await E(host).storeValue('second', 'second');
  await E(host).resolve(number, 'first');
  await E(host).resolve(number, 'second').catch(() => {});
  equal(await answer, 'first');
});

test('request: what is no request cannot be resolved', async client => {
  const { host } = await client();
  const { name, guest } = await newGuest(E, host);
  await E(host).send(name, ['hello'], [], []);
  await fails(E(guest).resolve(0n, '@self'), '');
  await fails(E(guest).reject(0n), '');
  await fails(E(guest).resolve(5n, '@self'), '5');
});

test('form: filled in', async client => {
  const { host } = await client();
  const { guest } = await newGuest(E, host);
  const fields = [
    { name: 'title', label: 'Title' },
    { name: 'count', label: 'How many', pattern: M.number(), default: 3 },
  ];
  const record = E(guest).form('@host', 'Fill this in', fields);
  ok(await isPending(record), 'filled in already');
  const message = await lastMessage(E, host);
  equal(message.type, 'form');
  equal(message.description, 'Fill this in');
  equal(message.fields.map(({ name }) => name), ['title', 'count']);
  await E(host).submit(message.number, { title: 'Report' });
  equal(await record, { count: 3, title: 'Report' });
  const value = await lastMessage(E, guest);
  equal(value.type, 'value');
  await E(guest).adopt(value.number, 'value', 'form-value');
  equal(await E(guest).lookup('form-value'), { count: 3, title: 'Report' });
});

test('form: what does not fit is refused field by field', async client => {
  const { host } = await client();
  const { guest } = await newGuest(E, host);
  const fields = [{ name: 'count', label: 'How many', pattern: M.gte(1) }];
  E(guest).form('@host', 'How many?', fields).catch(() => {});
  await isPending(E(guest).list());
  const { number } = await lastMessage(E, host);
  await fails(E(host).submit(number, { count: 'three' }), 'field "count"');
  await fails(E(host).submit(number, { count: 0 }), 'field "count"');
  await fails(E(host).submit(number, {}), 'count');
  await fails(E(host).submit(number, { count: 1, more: 2 }), 'more');
  await E(host).submit(number, { count: 1 });
});

test('form: a capability by its pet name', async client => {
  const { host } = await client();
  const { guest } = await newGuest(E, host);
  const fields = { where: { label: 'Where', pattern: M.remotable('directory') } };
  const record = E(guest).form('@host', { description: 'Where to?', fields });
  record.catch(() => {});
  await isPending(E(guest).list());
  await E(host).makeDirectory('chosen');
  await E(host).storeValue('here', ['chosen', 'x']);
  await E(host).submit((await lastMessage(E, host)).number, { where: 'chosen' });
  const { where } = await record;
  equal(await E(where).lookup('x'), 'here');
});

test('form: a secret is sealed', async client => {
  const { host } = await client();
  const { guest } = await newGuest(E, host);
  const record = E(guest).form('@host', 'Your key', [{ name: 'key', label: 'Key', secret: true }]);
  await isPending(record.catch(() => {}));
  await E(host).submit((await lastMessage(E, host)).number, { key: 'hunter2' });
  const { key } = await record;
  ok(typeof key === 'object', `the secret is ${JSON.stringify(key)}`);
});

test('define: endowed code uses what it was handed a thousand times, and the host was asked once', async client => {
  const { host } = await client();
  const { guest, agent } = await newGuest(E, host);
  const slots = { counter: { label: 'A counter', pattern: M.remotable('counter') } };
  const source = `(async () => {
    for (let i = 0; i < 999; i += 1) await E(counter).incr();
    return E(counter).incr();
  })()`;
  const result = E(guest).define(source, slots, 'result');
  ok(await isPending(result), 'there already');
  const message = await lastMessage(E, host);
  equal(message.type, 'definition');
  equal(message.source, source);
  equal(message.slots.counter.label, 'A counter');
  const before = (await E(host).listMessages()).length;
  const made = `let n = 0; makeExo('Counter', M.interface('Counter', { incr: M.call().returns(M.number()) }), {
    incr() { n += 1; return n; } })`;
  for (const name of ['counter', 'other']) await E(host).evaluate(undefined, made, [], [], name);
  await fails(E(host).endow(message.number, {}), 'counter');
  await fails(E(host).endow(message.number, { counter: 'counter', more: 'counter' }), 'more');
  equal(await E(host).endow(message.number, { counter: 'counter' }), 1000);
  equal(await result, 1000);
  equal(await E(E(host).lookup('other')).incr(), 1);
  equal((await E(host).listMessages()).length, before);
  await stop();
  await start();
  const again = await client();
  const same = await E(again.host).lookup(agent);
  equal(await E(same).define(source, slots, 'result'), 1000);
  equal((await E(same).listMessages()).filter(({ type }) => type === 'definition').length, 1);
});

const note = `---
description: Keeps a note.
slots:
  out: { is: dir rw, label: Where the note is kept }
---
Write the note.
`;

test('define: a worker, endowed on the command line after a restart', async client => {
  const { host } = await client();
  const { guest, agent } = await newGuest(E, host);
  const result = E(guest).define(note, {}, 'note');
  ok(await isPending(result), 'there already');
  const { number, type } = await lastMessage(E, host);
  equal(type, 'definition');
  await stop();
  await fails(result, /the daemon ends|connection closed/);
  await start();
  const directory = inFolder('notes');
  fs.mkdirSync(directory);
  const said = almoner('endow', `${number}`, '-e', `out=${directory}:rw`, '--allow', 'out.write', '-m', model);
  equal(said, 'written\n');
  equal(fs.readFileSync(path.join(directory, 'a.md'), 'utf8'), 'kept\n');
  const again = await client();
  equal(await E(E(again.host).lookup(agent)).define(note, {}, 'note'), 'written');
});

test('define: a worker, endowed with a directory that has a name', async client => {
  const { host } = await client();
  const { guest } = await newGuest(E, host);
  const result = E(guest).define(note, {});
  await isPending(result);
  const { number } = await lastMessage(E, host);
  const directory = inFolder('named-notes');
  fs.mkdirSync(directory);
  await E(host).provideMount(directory, 'named-notes');
  await E(host).endow(number, { out: 'named-notes' });
  // The model wants to write a file, so the daemon asks for approval. The user at the machine approves.
  let card;
  while (!card) {
    await sleep(20);
    card = JSON.parse(almoner('inbox', '--json')).find(({ mail }) => mail.envelope.kind === 'approval');
  }
  equal(fs.readdirSync(directory), []);
  almoner('approve', `${card.number}`);
  equal(await result, 'written');
  equal(fs.readFileSync(path.join(directory, 'a.md'), 'utf8'), 'kept\n');
});

test('define: rejected', async client => {
  const { host } = await client();
  const { guest } = await newGuest(E, host);
  const result = E(guest).define('1 + 1', {});
  await isPending(result.catch(() => {}));
  await E(host).reject((await lastMessage(E, host)).number, 'not my style');
  await fails(result, 'not my style');
});

test('define: a slot bound to what does not fit', async client => {
  const { host } = await client();
  const { guest } = await newGuest(E, host);
  E(guest).define('d', { d: { label: 'D', pattern: M.number() } }).catch(() => {});
  await isPending(E(guest).list());
  await E(host).storeValue('text', 'no-number');
  await fails(E(host).endow((await lastMessage(E, host)).number, { d: 'no-number' }), '');
});

test('evaluate: code over data runs, and what comes of it is kept', async client => {
  const { host } = await client();
  await E(host).storeValue(20, 'twenty');
  equal(await E(host).evaluate(undefined, 'n + 1', ['n'], ['twenty'], 'sum'), 21);
  equal(await E(host).lookup('sum'), 21);
  equal(await E(host).evaluate(undefined, '({ twice: m * 2, text: `${m}` })', ['m'], ['sum']), { twice: 42, text: '21' });
  await fails(E(host).evaluate(undefined, 'throw TypeError("not so")', [], []), 'not so');
  await fails(E(host).evaluate(undefined, 'process.exit()', [], []), 'process is not defined');
  await fails(E(host).evaluate(undefined, '() => 1', [], []), 'cannot be passed');
  const { guest } = await newGuest(E, host);
  await E(guest).storeValue([1, 2, 3], 'list');
  equal(await E(guest).evaluate(undefined, 'list.map(n => n * n)', ['list'], ['list'], 'squares'), [1, 4, 9]);
  equal(await E(guest).lookup('squares'), [1, 4, 9]);
  await fails(E(host).evaluate('twenty', '1', [], []), 'Cannot evaluate using non-worker');
  await fails(E(host).evaluate(undefined, 'n', ['n'], ['nobody']), 'Unknown pet name: "nobody"');
});

test('evaluate: code uses what it holds, and its objects answer', async client => {
  const { host } = await client();
  await E(host).storeValue(7, 'seven');
  equal(await E(host).evaluate(undefined, 'E(me).lookup("seven").then(n => n * 6)', ['me'], ['@agent']), 42);
  const source = `
    let n = 0;
    makeExo('Counter', M.interface('Counter', { incr: M.call().returns(M.number()) }), { incr: () => (n += 1) })`;
  const counter = await E(host).evaluate(undefined, source, [], [], 'counter');
  equal(await E(counter).incr(), 1);
  equal(await E(E(host).lookup('counter')).incr(), 2);
  equal(await E(host).evaluate(undefined, 'E(c).incr()', ['c'], ['counter']), 3);
  const many = await Promise.all(Array.from({ length: 100 }, () => E(counter).incr()));
  equal(many.at(-1), 103);
  await fails(E(counter).decr(), 'target has no method "decr"', 'TypeError');
  const maker = await E(host).evaluate(undefined, 'Far("Maker", { make: x => Far("Made", { get: () => x }) })', [], []);
  const made = await E(maker).make(counter);
  equal(await E(E(made).get()).incr(), 104);
  await fails(E(host).storeValue(made, 'made'), 'not durable');
  const twice = await E(host).evaluate(undefined, 'Far("twice", n => n * 2)', [], []);
  equal(await E(twice)(21), 42);
});

test('evaluate: what waits for an answer waits', async client => {
  const { host } = await client();
  const source = 'E(me).request("@self", "wait")';
  const result = E(host).evaluate(undefined, source, ['me'], ['@agent'], 'waits');
  result.catch(() => {});
  ok(await isPending(result), 'it ran');
  ok(await isPending(E(host).lookup('waits')), 'it ran');
  await E(host).cancel('waits');
  await fails(result, 'cancelled');
});

test('evaluate: cancelled', async client => {
  const { host } = await client();
  const result = E(host).evaluate(undefined, 'for (;;);', [], [], 'endless');
  await isPending(result.catch(() => {}));
  await E(host).cancel('endless', Error('enough'));
  await fails(result, '');
});

test('an evaluation is asked for and refused', async client => {
  const { host } = await client();
  const { guest } = await newGuest(E, host);
  await E(guest).storeValue(1, 'one');
  const result = E(guest).requestEvaluation('n', ['n'], ['one']);
  await isPending(result.catch(() => {}));
  const message = await lastMessage(E, host);
  equal(message.type, 'eval-request');
  await E(host).reject(message.number, 'no');
  await fails(result, 'no');
  ok(place.socket, 'a socket');
});

test('an evaluation is asked for, agreed to, and run', async client => {
  const { host } = await client();
  const { guest } = await newGuest(E, host);
  await E(guest).storeValue(1, 'one');
  const result = E(guest).requestEvaluation('n', ['n'], ['one']);
  ok(await isPending(result), 'it ran');
  const message = await lastMessage(E, host);
  equal([message.type, message.source, message.codeNames], ['eval-request', 'n', ['n']]);
  await fails(E(host).grantEvaluate(message.number, { resultGoesTo: 'anywhere' }), '');
  const agreed = E(host).grantEvaluate(message.number, { resultGoesTo: 'guest-data' });
  equal(await agreed, 1);
  equal(await result, 1);
  equal(await E(host).grantEvaluate(message.number), undefined, 'agreed to twice');
  await fails(E(guest).grantEvaluate(message.number), 'has no method');
  const other = await (async () => {
    E(guest).request('@host', 'no code').catch(() => {});
    await isPending(E(guest).list());
    return lastMessage(E, host);
  })();
  await fails(E(host).grantEvaluate(other.number), 'request');
});

test('questions of many hold nobody up', async client => {
  const { host } = await client();
  const { guest } = await newGuest(E, host);
  const asked = Array.from({ length: 50 }, (_, i) => E(guest).request('@host', `question ${i}`));
  equal(await E(guest).has('nobody'), false);
  const messages = (await E(host).listMessages()).slice(-50);
  await E(host).storeValue('yes', 'yes');
  await Promise.all(messages.reverse().map(({ number }) => E(host).resolve(number, 'yes')));
  equal((await Promise.all(asked)).every(answer => answer === 'yes'), true);
});

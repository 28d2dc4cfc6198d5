// The wire itself: what a client must not do, and what it may.
import fs from 'node:fs';
import { E } from '@endo/far';
import { raw } from './client.mjs';
import { equal, fails, newGuest, ok, pid, place, sleep, test } from './harness.mjs';

const bootstrap = { type: 'CTP_BOOTSTRAP', epoch: 0, questionID: 'q-1' };
const call = (questionID, target, method, slots = []) => ({
  type: 'CTP_CALL',
  epoch: 0,
  questionID,
  target,
  method: { body: JSON.stringify(method), slots },
});

test('wire: the messages are upstream\'s, to the letter', async () => {
  const client = await raw(place.socket);
  client.say(bootstrap);
  equal(await client.hear(), {
    type: 'CTP_RETURN',
    epoch: 0,
    answerID: 'q-1',
    result: { body: '{"@qclass":"slot","iface":"Alleged: Endo","index":0}', slots: ['o+1'] },
  });
  client.say(call('q-2', 'o-1', ['ping', []]));
  equal(await client.hear(), {
    type: 'CTP_RETURN',
    epoch: 0,
    answerID: 'q-2',
    result: { body: '"pong"', slots: [] },
  });
  client.say(call('q-3', 'o-1', ['fly', []]));
  const { exception } = await client.hear();
  const error = JSON.parse(exception.body);
  equal([error['@qclass'], error.name, error.errorId], ['error', 'TypeError', 'error:captp:Endo#20001']);
  client.close();
});

test('wire: smallcaps is understood', async () => {
  const client = await raw(place.socket);
  client.say(bootstrap);
  await client.hear();
  client.say({ ...call('q-2', 'o-1', []), method: { body: '#["ping",[]]', slots: [] } });
  equal((await client.hear()).result.body, '"pong"');
  client.close();
});

test('wire: a client that makes mistakes is told and cut off, and nobody else', async client => {
  const { bootstrap: other } = await client();
  const mistakes = [
    ['nonsense', 'a message must begin with its length and a colon'],
    ['2:{};', 'there must be a comma'],
    ['99999999999:', 'a message may have'],
    ['2:{},', 'this is no message: missing field `type`'],
    ['4:{"a",', 'this is no message'],
    [{ type: 'CTP_NONSENSE' }, 'unknown message type "CTP_NONSENSE"'],
    [call('q-2', 'o-99', ['ping', []]), 'Unknown export o+99'],
    [call('q-2', 'q-1', ['ping', [{ '@qclass': 'slot', index: 3 }]]), 'a body says no value'],
    [call('q-2', 'q-1', 'ping'), 'a method must be'],
    [bootstrap, 'was asked before'],
    [{ type: 'CTP_RETURN', answerID: 'q-5', result: { body: '1', slots: [] } }, 'a question we have not asked'],
    [{ type: 'CTP_RESOLVE', promiseID: 'p-5', res: { body: '1', slots: [] } }, 'a promise we have not imported'],
    [{ type: 'CTP_TRAP_ITERATE', questionID: 'q-1' }, 'CTP_TRAP_ITERATE is impossible'],
  ];
  for (const [said, reason] of mistakes) {
    const liar = await raw(place.socket);
    liar.say(bootstrap);
    await liar.hear();
    liar.say(said);
    const end = await liar.hear();
    equal(end.type, 'CTP_DISCONNECT', JSON.stringify(said));
    ok(end.reason.includes(reason), `${end.reason}, not ${reason}`);
    equal(await liar.hear(), undefined, 'it goes on');
    equal(await E(other).ping(), 'pong');
  }
});

test('wire: JSON that nests without end', async client => {
  const { bootstrap: other } = await client();
  const liar = await raw(place.socket);
  const deep = '['.repeat(200_000);
  liar.say({ ...call('q-1', 'o-1', []), method: { body: deep, slots: [] } });
  equal((await liar.hear()).type, 'CTP_DISCONNECT');
  equal(await E(other).ping(), 'pong');
});

test('wire: the end is echoed once', async () => {
  const client = await raw(place.socket);
  client.say(bootstrap);
  await client.hear();
  client.say({ type: 'CTP_DISCONNECT', epoch: 0, reason: 'bye' });
  equal(await client.hear(), { type: 'CTP_DISCONNECT', epoch: 0, reason: 'bye' });
  equal(await client.hear(), undefined);
});

test('wire: a trap is refused', async () => {
  const client = await raw(place.socket);
  client.say(bootstrap);
  await client.hear();
  client.say({ ...call('q-2', 'o-1', ['ping', []]), trap: true });
  ok((await client.hear()).exception.body.includes('Refused Trap'), 'not refused');
  client.close();
});

test('wire: pipelining through answers that are not there yet', async () => {
  const client = await raw(place.socket);
  client.say(bootstrap);
  client.say(call('q-2', 'q-1', ['host', []]));
  client.say(call('q-3', 'q-2', ['provideGuest', ['piped', { agentName: 'piped-agent' }]]));
  client.say(call('q-4', 'q-3', ['storeValue', [{ a: [7] }, 'v']]));
  client.say(call('q-5', 'q-3', ['lookup', ['v']]));
  client.say(call('q-6', 'q-5', ['a']));
  client.say(call('q-7', 'q-6', ['0']));
  const answers = {};
  while (answers['q-7'] === undefined) {
    const { answerID, result, exception } = await client.hear();
    answers[answerID] = (result ?? exception).body;
  }
  equal([answers['q-6'], answers['q-7']], ['[7]', '7']);
  client.close();
});

test('wire: a flood of questions is answered one by one', async client => {
  const { host } = await client();
  await E(host).storeValue(1, 'flooded');
  const liar = await raw(place.socket);
  liar.say(bootstrap);
  liar.say(call('q-2', 'q-1', ['host', []]));
  const count = 20_000;
  for (let i = 3; i < count; i += 1) {
    liar.say(call(`q-${i}`, 'q-2', ['lookup', ['flooded']]));
  }
  equal(await E(host).lookup('flooded'), 1);
  let last;
  for (let i = 1; i < count; i += 1) {
    last = await liar.hear();
  }
  equal([last.answerID, last.result.body], [`q-${count - 1}`, '1']);
  liar.close();
});

test('wire: who reads nothing is asked for nothing, and holds up nobody', async client => {
  const { host } = await client();
  await E(host).storeValue('x'.repeat(90_000), 'large');
  const deaf = await raw(place.socket);
  deaf.socket.pause();
  deaf.say(bootstrap);
  deaf.say(call('q-2', 'q-1', ['host', []]));
  for (let i = 3; i < 3_000; i += 1) {
    deaf.say(call(`q-${i}`, 'q-2', ['lookup', ['large']]));
  }
  await sleep(300);
  equal(await E(host).has('large'), true);
  const memory = Number(/VmRSS:\s+(\d+)/.exec(fs.readFileSync(`/proc/${pid()}/status`, 'utf8'))[1]);
  ok(memory < 150_000, `the daemon has ${memory} KiB`);
  deaf.close();
});

test('wire: promises without end', async client => {
  const { host } = await client();
  const { guest } = await newGuest(E, host);
  await fails(E(guest).storeValue(new Promise(() => {}), 'x'), 'not durable');
  // Passed as a promise, and settled by the client.
  await fails(E(guest).lookup(Promise.resolve('x')), '');
});

test('wire: a thousand calls at once', async client => {
  const { bootstrap: endo } = await client();
  const pongs = await Promise.all(Array.from({ length: 1000 }, () => E(endo).ping()));
  ok(pongs.every(pong => pong === 'pong'), 'not all');
});

test('wire: what the daemon keeps of each call does not grow', async client => {
  const { bootstrap: endo } = await client();
  // Counts only memory that no file backs, because the machine drops and reloads pages of the program as it likes.
  const memory = () =>
    Number(/RssAnon:\s+(\d+)/.exec(fs.readFileSync(`/proc/${pid()}/status`, 'utf8'))[1]);
  const calls = async count => {
    for (let i = 0; i < count; i += 500) {
      await Promise.all(Array.from({ length: 500 }, () => E(endo).ping()));
    }
  };
  await calls(10_000);
  const before = memory();
  await calls(90_000);
  const grown = memory() - before;
  // The least that an allocator keeps of anything is 32 bytes: 2,812 KiB, if it were of each call.
  ok(grown < 2048, `${grown} KiB more`);
}, 300);

test('wire: only the owner may connect', async () => {
  equal(fs.statSync(place.socket).mode & 0o777, 0o600);
});

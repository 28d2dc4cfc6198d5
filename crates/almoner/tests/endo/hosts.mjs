// Tests of hosts: workers, the graph of formulas, and promises that were kept.
import { E } from '@endo/far';
import { equal, fails, isPending, lastMessage, newGuest, ok, start, stop, test } from './harness.mjs';

// Code that waits for an answer that nobody gives.
const waits = 'E(hold).request("@self", "wait")';
const holding = [['hold'], ['@agent']];

test('hosts: a place to run', async client => {
  const { host } = await client();
  const worker = await E(host).provideWorker('w1');
  ok(String(worker).includes('EndoWorker'), String(worker));
  ok((await E(host).provideWorker('w1')) === worker, 'another one');
  ok((await E(host).provideWorker(['w1'])) === worker, 'another one');
  await E(host).storeValue(1, 'no-worker');
  await fails(E(host).provideWorker('no-worker'), 'is the name of something else');
  await fails(E(host).evaluate('no-worker', '1', [], []), 'Cannot evaluate using non-worker');
  await fails(E(host).evaluate('nobody', '1', [], []), 'Unknown pet name: "nobody"');
  const { guest } = await newGuest(E, host);
  await fails(E(guest).provideWorker('mine'), 'target has no method', 'TypeError');
});

test('hosts: code waits in the place that was named, and ends with it', async client => {
  const { host } = await client();
  const worker = await E(host).provideWorker('w2');
  const here = E(host).evaluate('w2', waits, ...holding, 'here');
  const there = E(host).evaluate(undefined, waits, ...holding, 'there');
  here.catch(() => {});
  there.catch(() => {});
  ok(await isPending(here), 'it ran');
  const graph = await E(host).getFormulaGraph();
  const [id, main] = [await E(host).identify('w2'), await E(host).identify('@main')];
  const runs = to => graph.edges.filter(edge => edge.targetId === to && edge.label === 'vat').length;
  ok(runs(id) <= 1 && runs(main) >= 0, 'it waits elsewhere');
  await E(worker).terminate();
  await fails(here, 'cancelled');
  ok(await isPending(there), 'all code was ended');
  await E(host).cancel('there');
  await fails(there, 'cancelled');
  // The place is still there.
  const again = E(host).evaluate('w2', waits, ...holding);
  again.catch(() => {});
  ok(await isPending(again), 'the place is gone');
  await E(worker).terminate();
});

test('hosts: a guest proposes code, which is endowed to run where the host says', async client => {
  const { host } = await client();
  const { guest } = await newGuest(E, host);
  await E(host).provideWorker('w3');
  const result = E(guest).define('E(a).request("@self", "wait")', { a: { label: 'a' } });
  result.catch(() => {});
  ok(await isPending(result), 'answered');
  const { number } = await lastMessage(E, host);
  const endowed = E(host).endow(number, { a: '@agent' }, 'w3');
  endowed.catch(() => {});
  ok(await isPending(endowed), 'it ran');
  const worker = await E(host).lookup('w3');
  await E(worker).terminate();
  await fails(endowed, 'cancelled');
});

test('hosts: a guest ends nothing of others in a place that it was lent', async client => {
  const { host } = await client();
  const { name, guest } = await newGuest(E, host);
  await E(host).provideWorker('w4');
  const waiting = E(host).evaluate('w4', waits, ...holding);
  waiting.catch(() => {});
  await E(host).send(name, ['', ''], ['worker'], ['w4']);
  const { number } = await lastMessage(E, guest);
  await E(guest).adopt(number, 'worker', 'worker');
  const own = E(guest).evaluate('worker', waits, ...holding);
  own.catch(() => {});
  ok(await isPending(own), 'it ran');
  await E(E(guest).lookup('worker')).terminate();
  await fails(own, 'cancelled');
  ok(await isPending(waiting), 'the host\'s code was ended');
  await E(E(host).lookup('w4')).terminate();
  await fails(waiting, 'cancelled');
});

test('hosts: the graph of what has a name', async client => {
  const { host } = await client();
  await E(host).makeDirectory('graphed');
  await E(host).storeValue('x', ['graphed', 'leaf']);
  const { nodes, edges } = await E(host).getFormulaGraph();
  const id = await E(host).identify('graphed', 'leaf');
  equal(nodes.find(node => node.id === id), { id, type: 'marshal' });
  const edge = edges.find(each => each.targetId === id);
  equal(edge.label, 'leaf');
  equal(nodes.find(node => node.id === edge.sourceId).type, 'pet-store');
  ok(nodes.length <= 2000 && edges.length <= 10_000, 'no bound');
  // A graph gives nothing away that could be used: what was seen is not held.
  const { guest } = await newGuest(E, host);
  await fails(E(guest).lookupById(id), 'not held');
});

test('hosts: paths lead through promises that were kept', async client => {
  const { host } = await client();
  const { guest } = await newGuest(E, host);
  const asked = E(guest).request('@host', 'a directory', 'promised');
  asked.catch(() => {});
  ok(await isPending(asked), 'answered');
  await fails(E(guest).lookup(['promised', 'x']), 'nobody has answered yet');
  await E(host).makeDirectory('answer');
  await E(host).storeValue('found', ['answer', 'x']);
  const { number } = await lastMessage(E, host);
  await E(host).resolve(number, 'answer');
  equal(await E(guest).lookup(['promised', 'x']), 'found');
  equal(await E(guest).has('promised', 'x'), true);
  equal(await E(guest).list('promised'), ['x']);
  const inner = E(E(guest).lookup('promised')).lookup('x');
  equal(await inner, 'found');
});

test('hosts: whoever has the resolver answers with what it holds', async client => {
  const { host } = await client();
  const { guest } = await newGuest(E, host);
  const asked = E(guest).request('@host', 'by identifier');
  asked.catch(() => {});
  ok(await isPending(asked), 'answered');
  const { number } = await lastMessage(E, host);
  const resolver = await E(host).lookup(['@mail', `${number}`, '@resolver']);
  await fails(E(resolver).resolveWithId('nonsense'), 'not a formula identifier');
  const foreign = `${'0'.repeat(64)}:${'1'.repeat(64)}`;
  await fails(E(resolver).resolveWithId(foreign), 'not held');
  await E(host).storeValue('the answer', 'the-answer');
  await E(resolver).resolveWithId(await E(host).identify('the-answer'));
  equal(await asked, 'the answer');
  await fails(E(guest).lookup(['@mail', '0', '@resolver']), 'Unknown pet name');
});

test('hosts: a place to run is there after a restart, and what waits in it', async client => {
  const { host } = await client();
  await E(host).provideWorker('w5');
  const waiting = E(host).evaluate('w5', waits, ...holding, 'kept-waiting');
  waiting.catch(() => {});
  ok(await isPending(waiting), 'it ran');
  await stop();
  await start();
  const again = (await client()).host;
  const result = E(again).lookup('kept-waiting');
  result.catch(() => {});
  await E(E(again).provideWorker('w5')).terminate();
  await fails(result, 'cancelled');
});

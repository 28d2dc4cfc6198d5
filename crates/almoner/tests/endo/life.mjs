// Connections and daemons that come and go.
import fs from 'node:fs';
import path from 'node:path';
import { E } from '@endo/far';
import { connect, dial } from './client.mjs';
import { almoner, ended, equal, fails, isPending, newGuest, ok, pid, place, sleep, start, stop, test } from './harness.mjs';

test('life: the root and the process are written down', async client => {
  const { host } = await client();
  const root = fs.readFileSync(path.join(place.state, 'root'), 'utf8');
  equal(root, `${await E(host).identify('@agent')}\n`);
  const number = fs.readFileSync(path.join(place.ephemeral, 'endo.pid'), 'utf8');
  equal(Number(number), pid());
});

test('life: two clients see the same store', async client => {
  const [a, b] = [await client(), await client()];
  await E(a.host).storeValue('from a', 'between');
  equal(await E(b.host).lookup('between'), 'from a');
  await a.close();
  equal(await E(b.host).lookup('between'), 'from a');
});

test('life: one client asks, the other answers', async client => {
  const [a, b] = [await client(), await client()];
  const { name, guest } = await newGuest(E, a.host);
  const answer = E(guest).request('@host', 'over two connections');
  await isPending(answer);
  await E(b.host).storeValue('here', 'here');
  const { number } = (await E(b.host).listMessages()).at(-1);
  await E(b.host).resolve(number, 'here');
  equal(await answer, 'here');
  ok(name, 'a name');
});

test('life: a client that leaves takes nothing with it', async client => {
  const { host } = await client();
  const { agent } = await newGuest(E, host);
  const gone = await connect(place.socket);
  const guest = await E(gone.host).lookup(agent);
  const asked = E(guest).request('@host', 'and gone', 'kept');
  asked.catch(() => {});
  ok(await isPending(asked), 'answered');
  // On a busy machine it takes longer than a moment until it is asked.
  while ((await E(host).listMessages()).at(-1)?.description !== 'and gone') {
    await sleep(20);
  }
  await gone.close();
  await fails(asked, 'connection closed');
  const { number } = (await E(host).listMessages()).at(-1);
  await E(host).storeValue('still there', 'answer-for-gone');
  await E(host).resolve(number, 'answer-for-gone');
  const again = await E(host).lookup(agent);
  equal(await E(again).request('@host', 'and gone', 'kept'), 'still there');
});

test('life: what was asked before a restart is answered after it', async client => {
  const { host } = await client();
  const { agent, guest } = await newGuest(E, host);
  const asked = E(guest).request('@host', 'before the restart', 'kept');
  asked.catch(() => {});
  ok(await isPending(asked), 'answered');
  const end = await stop();
  equal(end.code, 0, 'exit code');
  await fails(asked, 'the daemon ends');
  await start();
  const again = await client();
  const same = await E(again.host).lookup(agent);
  const attached = E(same).request('@host', 'before the restart', 'kept');
  ok(await isPending(attached), 'answered');
  const message = (await E(again.host).listMessages()).at(-1);
  equal(message.description, 'before the restart');
  await E(again.host).storeValue('after', 'after');
  await E(again.host).resolve(message.number, 'after');
  equal(await attached, 'after');
});

test('life: names, values and mail survive being killed', async client => {
  const { host } = await client();
  const { name, agent } = await newGuest(E, host);
  await E(host).storeValue({ deep: [1n] }, 'survivor');
  await E(host).send(name, ['survive'], [], []);
  const id = await E(host).identify('survivor');
  await stop('SIGKILL');
  ok(fs.existsSync(place.socket), 'the socket went with it');
  await start();
  const again = await client();
  equal(await E(again.host).lookup('survivor'), { deep: [1n] });
  equal(await E(again.host).identify('survivor'), id);
  const guest = await E(again.host).lookup(agent);
  equal((await E(guest).listMessages()).at(-1).strings, ['survive']);
});

test('life: it starts quickly and can be reached at once', async () => {
  await stop();
  const took = await start();
  // Most of it is the time that the test needs to notice.
  ok(took < 2_000, `${took} ms`);
});

test('life: terminate answers, ends, and leaves no socket', async client => {
  const { bootstrap } = await client();
  equal(await E(bootstrap).terminate(), undefined);
  equal((await ended()).code, 0, 'exit code');
  ok(!fs.existsSync(place.socket), 'the socket is still there');
  ok(!fs.existsSync(path.join(place.ephemeral, 'endo.pid')), 'the process is still written down');
  await fails(dial(place.socket), '');
  await start();
});

test('life: a client that ends in the middle of a message', async client => {
  const { bootstrap } = await client();
  const socket = await dial(place.socket);
  socket.write('1000:{"type":"CTP_BOO');
  socket.end();
  await sleep(30);
  equal(await E(bootstrap).ping(), 'pong');
});

test('life: many connections come and go', async client => {
  const { bootstrap } = await client();
  for (let round = 0; round < 5; round += 1) {
    const clients = await Promise.all(Array.from({ length: 40 }, () => connect(place.socket)));
    await Promise.all(clients.map(each => E(each.bootstrap).ping()));
    await Promise.all(clients.map(each => each.close()));
  }
  await sleep(100);
  const threads = fs.readdirSync(`/proc/${pid()}/task`).length;
  ok(threads < 20, `${threads} threads are left`);
  equal(await E(bootstrap).ping(), 'pong');
});

test('life: calls that nobody waits for happen in their order, and each is answered', async client => {
  const { host } = await client();
  const all = [
    E(host).storeValue('first', 'order-a'),
    E(host).copy(['order-a'], ['order-b']),
    E(host).copy(['nothing-there'], ['order-c']),
    E(host).storeValue('second', 'order-a'),
    E(host).makeDirectory('order-dir'),
    E(host).move(['order-b'], ['order-dir', 'b']),
    E(host).lookup(['order-dir', 'b']),
    E(host).remove('order-a'),
    E(host).lookup('order-a'),
    E(host).writeText('order-text', 'a text'),
    E(host).copy(['order-text'], ['order-copy']),
    E(host).readText('order-copy'),
  ];
  const came = (await Promise.allSettled(all)).map(({ status, value, reason }) =>
    status === 'fulfilled' ? value : reason.message,
  );
  equal([came[0], came[1], came[3], came[5], came[7], came[9], came[10]], Array(7).fill(undefined));
  ok(came[2].includes('nothing-there'), came[2]);
  equal(came[6], 'first');
  ok(came[8].includes('order-a'), came[8]);
  equal(came[11], 'a text');
});

test('life: calls that nobody waits for share syncs', async client => {
  const { host } = await client();
  const { name, guest } = await newGuest(E, host);
  const syncs = () => JSON.parse(almoner('status', '--json')).syncs;
  const before = syncs();
  await Promise.all(Array.from({ length: 512 }, (_, n) => E(host).send(name, [`number ${n}`], [], [])));
  const shared = syncs() - before;
  ok(shared < 128, `512 messages took ${shared} syncs`);
  const said = (await E(guest).listMessages()).map(({ strings }) => strings?.[0]).filter(each => each?.startsWith('number '));
  equal(said, Array.from({ length: 512 }, (_, n) => `number ${n}`));
});

test('life: what a call makes can be called before it is there', async client => {
  const { host } = await client();
  const made = E(host).makeDirectory('ahead');
  await E(E(made).makeDirectory('inner')).storeIdentifier('self', await E(host).identify('@self'));
  equal(await E(host).identify('ahead', 'inner', 'self'), await E(host).identify('@self'));
});

// The gateway: the same daemon over WebSockets, for whoever shows a token.
import { makeCapTP } from '@endo/captp';
import { E } from '@endo/far';
import net from 'node:net';
import { almoner, equal, fails, gatewayPort, newGuest, ok, sleep, start, stop, test } from './harness.mjs';

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const address = `ws://127.0.0.1:${gatewayPort}/`;

/** A token, as somebody at this machine asks for one. */
const token = (...args) => JSON.parse(almoner('gateway', '--json', ...args)).token;

/** A client as Endo's Chat is one: each message a frame. */
const open = async ({ text = false } = {}) => {
  const socket = new WebSocket(address);
  socket.binaryType = 'arraybuffer';
  await new Promise((resolve, reject) => {
    socket.addEventListener('open', resolve, { once: true });
    socket.addEventListener('error', () => reject(Error('it does not open')), { once: true });
  });
  const said = [];
  const send = message => {
    const json = JSON.stringify(message);
    if (socket.readyState === WebSocket.OPEN) {
      socket.send(text ? json : encoder.encode(json));
    }
  };
  const captp = makeCapTP('page', send, undefined, { onReject: () => {} });
  socket.addEventListener('message', ({ data }) => {
    const message = JSON.parse(decoder.decode(data));
    said.push(message);
    captp.dispatch(message);
  });
  const closed = new Promise(resolve => socket.addEventListener('close', resolve, { once: true }));
  closed.then(() => captp.abort(Error('connection closed')));
  const gateway = captp.getBootstrap();
  gateway.catch(() => {});
  return { gateway, socket, said, closed, close: () => socket.close() };
};

test('gateway: a token opens the agent that it is for', async client => {
  const { host } = await client();
  const page = await open();
  const same = await E(page.gateway).fetch(token());
  equal(await E(same).identify('@agent'), await E(host).identify('@agent'));
  await E(same).storeValue({ from: ['a page'] }, 'by-gateway');
  equal(await E(host).lookup('by-gateway'), { from: ['a page'] });
  const { agent, name, guest } = await newGuest(E, host);
  const powers = await E(page.gateway).fetch(token('--as', agent));
  equal(await E(powers).identify('@self'), await E(guest).identify('@self'));
  await fails(E(powers).endow(0n, {}), 'target has no method "endow"');
  await E(same).send(name, ['from the page'], [], []);
  equal((await E(guest).listMessages()).at(-1).strings, ['from the page']);
  equal(await E(page.gateway).help(), 'fetch(token) -> the agent for whom `almoner gateway` has given the token out. A token can be used once, for five minutes.');
  page.close();
});

test('gateway: what is sent right behind a good token is heard', async () => {
  // In most of these both messages come in one piece, and the second is read before the first is looked at.
  for (let i = 0; i < 30; i += 1) {
    const page = await open();
    await fails(E(page.gateway).fetch(`no token ${i}`), 'no such token');
    const agent = E(page.gateway).fetch(token());
    equal(await Promise.all([E(agent).has('@self'), E(agent).has('nothing-here')]), [true, false]);
    page.close();
  }
});

test('gateway: messages may be text, long, and many at once', async client => {
  const { host } = await client();
  const page = await open({ text: true });
  const same = E(page.gateway).fetch(token());
  const long = 'ünïcode '.repeat(200_000);
  await E(same).storeValue(long, 'long-by-gateway');
  equal((await E(host).lookup('long-by-gateway')).length, long.length);
  equal((await E(same).lookup('long-by-gateway')).length, long.length);
  const all = await Promise.all(Array.from({ length: 500 }, () => E(same).has('long-by-gateway')));
  ok(all.every(each => each === true), 'one answer is missing');
  page.close();
});

test('gateway: a token works once, and what is no token never', async () => {
  const page = await open();
  const once = token();
  await E(page.gateway).fetch(once);
  await fails(E(page.gateway).fetch(once), 'no such token');
  await fails(E(page.gateway).fetch(once.slice(1)), 'no such token');
  // A good one in between is taken, and wrong ones are counted anew.
  ok(await E(page.gateway).fetch(token()), 'a good token');
  await fails(E(page.gateway).fetch(7), 'a token is a string');
  await fails(E(page.gateway).fetch(), 'a token is a string');
  await fails(E(page.gateway).host(), 'target has no method "host", has ["__getMethodNames__","fetch","help"]');
  page.close();
});

test('gateway: whoever guesses is let go of, and nobody else', async () => {
  const good = await open();
  const host = E(good.gateway).fetch(token());
  await host;
  const waiting = token();
  const guesser = await open();
  for (let n = 0; n < 3; n += 1) {
    await fails(E(guesser.gateway).fetch('0'.repeat(64)), 'no such token');
  }
  await guesser.closed;
  equal(guesser.said.at(-1).type, 'CTP_DISCONNECT');
  ok(JSON.stringify(guesser.said.at(-1)).includes('too many wrong tokens'), 'the reason is missing');
  equal(await E(host).has('@self'), true);
  const next = await open();
  equal(await E(E(next.gateway).fetch(waiting)).has('@self'), true);
  next.close();
  good.close();
});

test('gateway: what makes no sense ends that connection alone', async () => {
  const good = await open();
  const host = await E(good.gateway).fetch(token());
  for (const nonsense of ['nonsense', '{}', '[1]', '{"type":"CTP_CALL"}', 'null', '']) {
    const page = await open();
    page.socket.send(encoder.encode(nonsense));
    await page.closed;
    equal(page.said.at(-1).type, 'CTP_DISCONNECT', nonsense);
  }
  equal(await E(host).has('@self'), true);
  good.close();
});

/** Sends a request with the given header lines, and returns the first line of the answer. */
const ask = headers =>
  new Promise((resolve, reject) => {
    const socket = net.connect(gatewayPort, '127.0.0.1');
    let said = '';
    socket.on('data', bytes => {
      said += bytes;
      // One that was let in stays open.
      if (said.includes('101 Switching')) {
        socket.destroy();
      }
    });
    socket.on('close', () => resolve(said.split('\r\n')[0]));
    socket.on('error', reject);
    socket.write(`GET / HTTP/1.1\r\n${headers.map(line => `${line}\r\n`).join('')}\r\n`);
  });

const upgrade = [
  'Connection: Upgrade',
  'Upgrade: websocket',
  'Sec-WebSocket-Version: 13',
  'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
];

test('gateway: pages of others and names of others are shut out', async () => {
  const here = `Host: 127.0.0.1:${gatewayPort}`;
  const check = async (headers, status) =>
    equal((await ask([...headers, ...upgrade])).split(' ')[1], status, headers.join(', '));
  await check([here], '101');
  await check([`Host: localhost:${gatewayPort}`], '101');
  await check([here, 'Origin: http://localhost:5173'], '101');
  await check([here, 'Origin: https://example.org'], '403');
  await check([here, 'Origin: null'], '403');
  await check([here, 'Origin: http://localhost.example.org'], '403');
  await check([`Host: example.org:${gatewayPort}`], '403');
  await check(['Host: 127.0.0.1:1'], '403');
  await check([], '403');
  await check([here, here], '403');
  // The gateway refuses a request that asks for no WebSocket.
  equal(await ask([here]), 'HTTP/1.1 400 Bad Request');
});

test('gateway: who has shown no token is not listened to for long', async () => {
  for (const length of [9_000, 1_000_000, 15_000_000]) {
    const page = await open();
    page.socket.send(new Uint8Array(length).fill(32));
    const { code } = await page.closed;
    // 1006: the end came while the rest was still being sent.
    ok([1009, 1006].includes(code), `${length} bytes: closed with ${code}`);
  }
  // In one turn with the token, what is long is taken once the token is.
  const page = await open();
  const long = 'x'.repeat(1_000_000);
  const [host] = [E(page.gateway).fetch(token())];
  await E(host).storeValue(long, 'long-in-one-turn');
  equal((await E(host).lookup('long-in-one-turn')).length, long.length);
  page.close();
});

test('gateway: a handshake that is spoken slowly ends all the same', async () => {
  const began = Date.now();
  const socket = net.connect(gatewayPort, '127.0.0.1');
  socket.on('error', () => {});
  const closed = new Promise(resolve => socket.once('close', resolve));
  socket.resume();
  socket.write('GET / HTTP/1.1\r\n');
  const drip = setInterval(() => socket.write('x'), 500);
  await closed;
  clearInterval(drip);
  const took = Date.now() - began;
  ok(took > 4_000 && took < 15_000, `it took ${took} ms`);
});

test('gateway: connections that come and go leave nothing behind', async () => {
  for (let round = 0; round < 3; round += 1) {
    const pages = await Promise.all(Array.from({ length: 40 }, () => open()));
    pages.forEach(page => page.close());
    await Promise.all(pages.map(page => page.closed));
    await sleep(100);
  }
  const page = await open();
  equal(await E(E(page.gateway).fetch(token())).has('@self'), true);
  page.close();
});

test('gateway: a daemon that ends says so, and knows no old tokens afterwards', async () => {
  const page = await open();
  const host = await E(page.gateway).fetch(token());
  const old = token();
  await stop();
  await page.closed;
  equal(page.said.at(-1).type, 'CTP_DISCONNECT');
  await fails(E(host).has('@self'), /the daemon ends|connection closed/);
  await start();
  const again = await open();
  await fails(E(again.gateway).fetch(old), 'no such token');
  equal(await E(E(again.gateway).fetch(token())).has('@self'), true);
  again.close();
});

// What Endo's own client gets from the daemon at a socket: `node endo.mjs SOCKET`. A line of JSON for each figure.
import { connect } from './client.mjs';
import { E } from '@endo/far';

const { bootstrap, host, close } = await connect(process.argv[2]);
const guest = await E(host).provideGuest('node-fae');
const here = await host;
let made = 0;

/** So many calls, so many of them at once. */
const measure = async (what, count, width, call) => {
  const began = process.hrtime.bigint();
  for (let done = 0; done < count; done += width) {
    await Promise.all(Array.from({ length: Math.min(width, count - done) }, () => call()));
  }
  const seconds = Number(process.hrtime.bigint() - began) / 1e9;
  console.log(JSON.stringify({ what: `${what}, ${width} at once`, count, seconds }));
};

const store = () => {
  made += 1;
  return E(here).storeValue('a text', `node-${made}`);
};
const send = () => E(guest).send('@host', ['a line of text'], [], []);
const bob = await E(host).provideHost('node-bob');
const messages = await E(bob).followMessages();
await E(bob).storeValue('a text', 'answer');
const ask = async () => {
  const answer = E(bob).request('@self', 'a value');
  const { value } = await E(messages).next();
  await E(bob).resolve(value.number, 'answer');
  await answer;
};

// What is compiled while it runs is compiled before anything is measured.
for (let n = 0; n < 500; n += 1) {
  await E(bootstrap).ping();
}
await measure('ping', 5000, 1, () => E(bootstrap).ping());
await measure('ping', 20000, 64, () => E(bootstrap).ping());
for (const width of [1, 16, 64]) {
  await measure('storeValue', 3000, width, store);
}
for (const width of [1, 16, 64]) {
  await measure('send', 2000, width, send);
}
await measure('request and resolve', 300, 1, ask);
await close();
process.exit(0);

// Killed while four clients send, again and again: what was acknowledged is there, and both mailboxes agree.
import { E } from '@endo/far';
import { connect } from './client.mjs';
import { equal, newGuest, ok, place, sleep, start, stop, test } from './harness.mjs';

const rounds = Number(process.env.ENDO_SUITE_CRASHES ?? 50);

/** Sends until the connection breaks, so many at once; what was acknowledged. */
const sendUntilCut = async (agent, sender, acknowledged, atOnce) => {
  const client = await connect(place.socket);
  const guest = E(client.host).lookup(agent);
  try {
    for (let i = 0; ; i += 1) {
      const burst = Array.from({ length: atOnce }, (_, n) => `${sender}-${acknowledged.length}-${i}-${n}`);
      const sent = burst.map(text => E(guest).send('@host', [text], [], []).then(() => acknowledged.push(text)));
      const came = await Promise.allSettled(sent);
      const cut = came.find(({ status }) => status === 'rejected');
      if (cut) {
        throw cut.reason;
      }
    }
  } catch (_) {
    // The daemon was killed.
  }
  await client.close();
};

const texts = async agent => (await E(agent).listMessages()).filter(({ strings }) => strings).map(({ strings }) => strings[0]);

test('crash: killed while four clients send', async client => {
  const { host } = await client();
  const guests = [];
  for (let i = 0; i < 4; i += 1) {
    guests.push(await newGuest(E, host));
  }
  const acknowledged = guests.map(() => []);
  for (let round = 0; round < rounds; round += 1) {
    const senders = guests.map(({ agent }, i) => sendUntilCut(agent, `c${round}-${i}`, acknowledged[i], i % 2 ? 8 : 1));
    await sleep(40 + (round * 37) % 160);
    await stop('SIGKILL');
    await Promise.all(senders);
    await start();
  }
  const again = await client();
  const received = await texts(again.host);
  let sum = 0;
  for (const [i, { agent }] of guests.entries()) {
    const sent = await texts(E(again.host).lookup(agent));
    const came = received.filter(text => text.split('-')[1] === `${i}` && text.startsWith('c'));
    // Both mailboxes have the same, in the same order, each once.
    equal(came, sent, 'what came');
    equal(new Set(sent).size, sent.length, 'how many differ');
    const there = new Set(sent);
    ok(acknowledged[i].every(text => there.has(text)), 'an acknowledged message is lost');
    sum += acknowledged[i].length;
  }
  ok(sum > rounds, `only ${sum} messages were sent in ${rounds} rounds`);
  // The host's own commands have numbers beside those of the messages.
  const messages = (await E(again.host).listMessages()).filter(({ type }) => type !== 'command');
  const numbers = messages.map(({ number }) => number);
  equal(numbers.every((number, i) => i === 0 || number > numbers[i - 1]), true, 'order of numbers');
}, 600);

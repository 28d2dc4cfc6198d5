// Tests, what they expect, and the daemon that they talk to.
import { execFileSync, spawn } from 'node:child_process';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { connect } from './client.mjs';

const tests = [];

/** A test. Tests run one after the other, each with a client of its own. */
export const test = (name, body, seconds = 60) => {
  tests.push({ name, body, seconds });
};

// Records have no order.
const sorted = each => Object.fromEntries(Object.entries(each).sort(([a], [b]) => (a < b ? -1 : 1)));

const shown = value => {
  const seen = (_, each) => {
    if (typeof each === 'bigint') {
      return `${each}n`;
    }
    return each && typeof each === 'object' && !Array.isArray(each) ? sorted(each) : each;
  };
  return value === undefined ? 'undefined' : JSON.stringify(value, seen);
};

export const equal = (actual, expected, what = '') => {
  if (shown(actual) !== shown(expected)) {
    throw Error(`${what} is ${shown(actual)}, not ${shown(expected)}`);
  }
};

export const ok = (condition, what) => {
  if (!condition) {
    throw Error(what);
  }
};

/** The promise must be broken, with an error whose message has the text, or matches. */
export const fails = async (promise, expected, name = undefined) => {
  let value;
  try {
    value = await promise;
  } catch (error) {
    const message = `${error.message ?? error}`;
    const fits = typeof expected === 'string' ? message.includes(expected) : expected.test(message);
    ok(fits, `the error is ${JSON.stringify(message)}, not ${expected}`);
    if (name !== undefined) {
      ok(`${error.name}`.includes(name), `the error is a ${error.name}, not a ${name}`);
    }
    return error;
  }
  throw Error(`there is ${shown(value)} instead of the error ${expected}`);
};

export const sleep = ms => new Promise(resolve => setTimeout(resolve, ms));

/** Returns whether the promise is still open after 60 milliseconds. */
export const isPending = async promise => {
  const pending = {};
  return (await Promise.race([promise, sleep(60).then(() => pending)])) === pending;
};

const folder = process.env.ENDO_SUITE_FOLDER;

export const place = {
  state: path.join(folder, 'state'),
  ephemeral: path.join(folder, 'run'),
  cache: path.join(folder, 'cache'),
  socket: path.join(folder, 'captp0.sock'),
};

/** A port that nobody has. */
export const gatewayPort = await new Promise(resolve => {
  const probe = net.createServer();
  probe.listen(0, '127.0.0.1', () => {
    const { port } = probe.address();
    probe.close(() => resolve(port));
  });
});

/** The answers of the scripted model: it writes one note and ends. */
const script = path.join(folder, 'script.json');
fs.writeFileSync(
  script,
  JSON.stringify([
    {
      turns: [
        { calls: [{ name: 'out_write', arguments: { path: 'a.md', content: 'kept\n' } }] },
        { text: 'written' },
      ],
    },
  ]),
);

/** The model of whatever is endowed here. */
export const model = `scripted:${script}`;

/** A path in the folder of this run. */
export const inFolder = name => path.join(folder, name);

const environment = {
  PATH: process.env.PATH,
  HOME: folder,
  ENDO_STATE_PATH: place.state,
  ENDO_EPHEMERAL_STATE_PATH: place.ephemeral,
  ENDO_CACHE_PATH: place.cache,
  ENDO_SOCK_PATH: place.socket,
  ALMONER_MODEL: model,
  ENDO_ADDR: `127.0.0.1:${gatewayPort}`,
  // Only in a daemon that is built for tests: how long somebody who makes no progress is waited for.
  ALMONER_ENDO_PATIENCE_MS: '8000',
};

/** Runs the command line, as the user at the machine would, and returns its output. */
export const almoner = (...args) =>
  execFileSync(process.env.ALMONER, args, { env: environment, encoding: 'utf8' });

let daemon;

/** Starts the daemon and waits until it can be reached; how long that took, in milliseconds. */
export const start = async () => {
  const began = Date.now();
  const log = fs.openSync(path.join(folder, 'daemon.log'), 'a');
  daemon = spawn(process.env.ALMONER, ['daemon'], {
    env: environment,
    stdio: ['ignore', log, log],
  });
  daemon.ended = new Promise(resolve => daemon.once('exit', (code, signal) => resolve({ code, signal })));
  for (;;) {
    try {
      const client = await connect(place.socket);
      await client.host;
      await client.close();
      return Date.now() - began;
    } catch (error) {
      if (daemon.exitCode !== null || Date.now() - began > 20_000) {
        throw Error(`the daemon does not start: ${error.message}`);
      }
      await sleep(3);
    }
  }
};

/** Ends the daemon by a signal, and waits until it has ended. */
export const stop = async (signal = 'SIGTERM') => {
  daemon.kill(signal);
  return daemon.ended;
};

/** Waits until the daemon has ended by itself. */
export const ended = () => daemon.ended;

export const pid = () => daemon.pid;

let guests = 0;

/** A new guest of the host's, under a name that nobody else has: its name, and its powers. */
export const newGuest = async (E, host) => {
  guests += 1;
  const name = `guest-${guests}`;
  const guest = await E(host).provideGuest(name, { agentName: `${name}-agent` });
  return { name, agent: `${name}-agent`, guest };
};

/** The last message in a mailbox. */
export const lastMessage = async (E, agent) => (await E(agent).listMessages()).at(-1);

export const run = async only => {
  await start();
  let failed = 0;
  let passed = 0;
  for (const { name, body, seconds } of tests) {
    if (only && !name.includes(only)) {
      continue;
    }
    const clients = [];
    const client = async options => {
      const made = await connect(place.socket, options);
      clients.push(made);
      return made;
    };
    const began = Date.now();
    let timer;
    const late = new Promise((_, reject) => {
      timer = setTimeout(() => reject(Error('it takes too long')), seconds * 1000);
    });
    try {
      await Promise.race([body(client), late]);
      passed += 1;
      console.log(`ok ${name} (${Date.now() - began} ms)`);
    } catch (error) {
      failed += 1;
      console.log(`FAILED ${name}\n  ${error.message}`);
    }
    clearTimeout(timer);
    await Promise.all(clients.map(each => each.close()));
  }
  await stop();
  console.log(`${passed} passed, ${failed} failed`);
  process.exit(failed === 0 ? 0 : 1);
};

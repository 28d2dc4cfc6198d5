// A client as Endo's own are made: netstrings over a unix socket, CapTP over these.
import '@endo/init';
import net from 'node:net';
import { makeCapTP } from '@endo/captp';
import { E } from '@endo/far';
import { makeNetstringReader } from '@endo/netstring';

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** One message as a netstring. */
export const framed = text => {
  const bytes = encoder.encode(text);
  return Buffer.concat([encoder.encode(`${bytes.length}:`), bytes, encoder.encode(',')]);
};

/** A socket that is connected. */
export const dial = path =>
  new Promise((resolve, reject) => {
    const socket = net.connect(path);
    socket.once('connect', () => resolve(socket));
    socket.once('error', reject);
  });

/** A client: its bootstrap object, and how to leave. */
export const connect = async (path, { name = 'test', root = undefined, ...options } = {}) => {
  const socket = await dial(path);
  socket.on('error', () => {});
  const sent = [];
  const received = [];
  const send = message => {
    sent.push(message);
    socket.write(framed(JSON.stringify(message)));
  };
  const captp = makeCapTP(name, send, root, { onReject: () => {}, ...options });
  const closed = (async () => {
    try {
      for await (const bytes of makeNetstringReader(socket, { name })) {
        const message = JSON.parse(decoder.decode(bytes));
        received.push(message);
        captp.dispatch(message);
      }
    } catch (_) {
      // A socket that is cut off is an end too.
    }
    captp.abort(Error('connection closed'));
  })();
  const bootstrap = captp.getBootstrap();
  return {
    bootstrap,
    host: E(bootstrap).host(),
    captp,
    socket,
    sent,
    received,
    closed,
    close: async () => {
      socket.end();
      socket.destroy();
      await closed;
    },
  };
};

/** A client that says exactly what it is told to. */
export const raw = async path => {
  const socket = await dial(path);
  socket.on('error', () => {});
  const messages = [];
  const waiting = [];
  let ended = false;
  const closed = (async () => {
    try {
      for await (const bytes of makeNetstringReader(socket)) {
        messages.push(JSON.parse(decoder.decode(bytes)));
        waiting.splice(0).forEach(wake => wake());
      }
    } catch (_) {
      // As above.
    }
    ended = true;
    waiting.splice(0).forEach(wake => wake());
  })();
  return {
    socket,
    closed,
    /** Says a message, or bytes as they are. */
    say: message =>
      socket.write(typeof message === 'string' ? message : framed(JSON.stringify(message))),
    /** The next message; undefined at the end. */
    hear: async () => {
      while (messages.length === 0 && !ended) {
        await new Promise(wake => waiting.push(wake));
      }
      return messages.shift();
    },
    close: () => socket.destroy(),
  };
};

// A plain child process of Node that evaluates what it is sent: what vats are compared with. Nothing confines it.
//
// A line is JSON, either way: `{ answer, source }` comes in, `{ answer, value }` goes out; code says `send()`, which
// goes out as `{ send }` and is settled by `{ settle, value }`.
import { createInterface } from 'node:readline';

const say = message => process.stdout.write(`${JSON.stringify(message)}\n`);
const waiting = new Map();
let sent = 0;
globalThis.send = () => new Promise(resolve => {
  sent += 1;
  waiting.set(sent, resolve);
  say({ send: sent });
});

createInterface({ input: process.stdin }).on('line', line => {
  const { answer, source, settle, value } = JSON.parse(line);
  if (settle !== undefined) {
    waiting.get(settle)(value);
    waiting.delete(settle);
  } else {
    Promise.resolve((0, eval)(source)).then(result => say({ answer, value: result }));
  }
});

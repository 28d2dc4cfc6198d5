import greet, { loud as shout } from 'greeting';
import * as words from './src/words.js';
import table from './src/table.json';
import { start } from './src/../src/start.js';
import { inner } from 'greeting/inner.js';

export const make = (powers, context, { env }) => {
  let count = table.first + start;
  return Far(env.NAME ?? 'Tally', {
    up: () => { count += 1; return count; },
    greet: who => shout(greet(`${words.article} ${who}`)),
    inner: () => inner,
    ask: () => E(powers).incr(),
    id: () => E(context).id(),
  });
};

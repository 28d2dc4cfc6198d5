// Says which headings a directory of notes has. It reaches that directory, and nothing else.
import { headings } from './lib/headings.js';

export const make = (powers, context, { env, state }) => {
  const deepest = Number(env.DEEPEST ?? '2');
  return Far('Headings', {
    /** The headings of all notes, one line each. */
    list: async () => {
      const names = (await E(powers).list()).filter(name => name.endsWith('.md'));
      const texts = await Promise.all(names.map(name => E(powers).readText(name)));
      const lines = texts.flatMap((text, at) => headings(text, deepest).map(line => `${names[at]}: ${line}`));
      await E(state).set('asked', ((await E(state).get('asked')) ?? 0) + 1);
      return lines.join('\n');
    },
    /** How often that was asked: kept over restarts. */
    asked: async () => (await E(state).get('asked')) ?? 0,
  });
};

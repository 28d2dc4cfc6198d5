import { purse, type Purse } from './purse.js';

type Args = { first: number };

export const make = (powers: unknown, context: unknown, { env }: { env: Record<string, string> }): Purse => {
  const args: Args = { first: Number(env['FIRST'] ?? '0') };
  const made = purse();
  made.put(args.first);
  return made;
};

import { purse } from './purse.js';
export const make = (powers, context, { env }) => {
    const args = { first: Number(env['FIRST'] ?? '0') };
    const made = purse();
    made.put(args.first);
    return made;
};
//# sourceMappingURL=index.js.map
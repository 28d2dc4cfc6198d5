// Programs in Compartments of the package `ses`, each with the globals of an Endo worker and two presences. They come
// as a JSON array on standard input; what each came to is the last line of standard output, as a JSON array of lines.
//
// A line is the smallcaps of the result and where its slots live, or `throws` and the error's name or the smallcaps of
// what was thrown. Lines leave out the claimed names of objects, because vats and Compartments name them differently.
import 'ses';
import '@endo/eventual-send/shim.js';

// A promise that nobody looks at is part of a program, not the end of all of them.
lockdown({ errorTrapping: 'none', unhandledRejectionTrapping: 'none' });
process.on('unhandledRejection', () => undefined);

const { E, Far, makeLoopback } = await import('@endo/captp').then(async captp => ({
  ...(await import('@endo/far')), makeLoopback: captp.makeLoopback,
}));
const { makeMarshal } = await import('@endo/marshal');
const { M } = await import('@endo/patterns');
const { makeExo } = await import('@endo/exo');

// A program whose result takes longer than this counts as a program without a result.
const PATIENCE_MS = 2_000;

const silent = harden(Object.fromEntries(['debug', 'log', 'info', 'warn', 'error'].map(level => [level, () => undefined])));

const objects = async () => {
  let count = 0;
  const counter = Far('Counter', {
    incr() { count += 1; return count; },
    self() { return counter; },
    fail() { throw RangeError('it failed'); },
  });
  const echo = Far('Echo', { same(value) { return value; } });
  const { makeFar } = makeLoopback('outside');
  return { counter: await makeFar(counter), echo: await makeFar(echo) };
};

const shown = (value, { counter, echo }) => {
  const own = [];
  const slotOf = thing => {
    if (thing === counter) return 'Host(1)';
    if (thing === echo) return 'Host(2)';
    if (!own.includes(thing)) own.push(thing);
    return `Vat(${own.indexOf(thing) + 1})`;
  };
  const marshal = makeMarshal(slotOf, undefined, { serializeBodyFormat: 'smallcaps', errorTagging: 'off' });
  const { body, slots } = marshal.toCapData(harden(value));
  return [body.slice(1).replace(/"([$&]\d+)\.[^"]*"/g, '"$1"'), ...slots].join(' ');
};

const thrown = (reason, things) => {
  if (reason instanceof Error) return `throws ${reason.name}`;
  try {
    return `throws ${shown(reason, things)}`;
  } catch (error) {
    return `throws ${error.name}`;
  }
};

const run = async source => {
  const things = await objects();
  try {
    const globals = { E, Far, M, makeExo, assert, console: silent, TextEncoder, TextDecoder, URL, ...things };
    const compartment = new Compartment({ globals, __options__: true });
    const result = compartment.evaluate(source);
    const late = new Promise(resolve => setTimeout(resolve, PATIENCE_MS));
    const value = await Promise.race([Promise.resolve(result).then(done => [done]), late]);
    return value === undefined ? 'nothing' : shown(value[0], things);
  } catch (reason) {
    return thrown(reason, things);
  }
};

let text = '';
for await (const part of process.stdin) text += part;
const told = [];
for (const source of JSON.parse(text)) told.push(await run(source));
// The packages print there as well: this is the last line.
process.stdout.write(`\n${JSON.stringify(told)}`);
process.exit(0);

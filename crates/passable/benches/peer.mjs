// The work of benches/passable.rs with the published packages. Prints seconds per call by name.
import '@endo/init';
import fs from 'node:fs';
import { makeMarshal, makePassableKit } from '@endo/marshal';
import { M, matches } from '@endo/patterns';

const { body } = JSON.parse(fs.readFileSync(process.argv[2], 'utf8'));
const options = format => ({ serializeBodyFormat: format, errorTagging: 'off' });
const small = makeMarshal(undefined, undefined, options('smallcaps'));
const cap = makeMarshal(undefined, undefined, options('capdata'));
const value = small.fromCapData(harden({ body, slots: [] }));
// Their memory of what they have seen must not stand in for the work: every call gets a value of its own.
const fresh = () => small.fromCapData(harden({ body, slots: [] }));
const result = {};
const now = () => Number(process.hrtime.bigint()) / 1e9;
const measure = (name, work, prepare = () => undefined, most = 12) => {
  const times = [];
  const begun = now();
  for (let i = 0; i < most && now() - begun < 4; i += 1) {
    const input = prepare();
    const started = now();
    work(input);
    times.push(now() - started);
  }
  // The best of all, because a shared machine only ever adds time.
  result[name] = Math.min(...times);
};
const smallData = small.toCapData(value);
const capData = cap.toCapData(value);
measure('smallcaps encode', input => small.toCapData(input), fresh);
measure('smallcaps decode', () => small.fromCapData(smallData));
measure('capdata encode', input => cap.toCapData(input), fresh);
measure('capdata decode', () => cap.fromCapData(capData));
for (const [name, format] of [['legacy', 'legacyOrdered'], ['compact', 'compactOrdered']]) {
  const { encodePassable, decodePassable } = makePassableKit({ format });
  const text = encodePassable(value);
  measure(`${name} encode`, input => encodePassable(input), fresh);
  measure(`${name} decode`, () => decodePassable(text));
}
const plain = JSON.parse(capData.body);
const json = JSON.stringify(plain);
measure('plain JSON write', () => JSON.stringify(plain), undefined, 200);
measure('plain JSON read', () => JSON.parse(json), undefined, 200);
const smallPattern = M.splitRecord({ id: M.number(), name: M.string() }, { note: M.string() });
const largePattern = M.arrayOf(
  M.splitRecord(
    {
      id: M.number(),
      name: M.string(),
      tags: M.arrayOf(M.or('red', 'green', 'blue')),
      size: M.nat(),
    },
    { note: M.string() },
    M.recordOf(M.string(), M.any()),
  ),
);
const check = (specimen, pattern) => {
  if (!matches(specimen, pattern)) throw Error('must match');
};
measure('check large', () => check(value, largePattern));
const one = value[7];
const rounds = 500;
measure('check small', () => {
  for (let i = 0; i < rounds; i += 1) check(one, smallPattern);
});
result['check small'] /= rounds;
console.log(JSON.stringify(result));

// Programs of modules: archives, bundles and trees.
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { E, Far } from '@endo/far';
import { equal, fails, inFolder, isPending, ok, start, stop, test } from './harness.mjs';

/** Made by `@endo/compartment-mapper` of sources. */
const tally = fs.readFileSync(path.join(path.dirname(fileURLToPath(import.meta.url)), 'tally.zip'));

const readerOf = bytes => {
  const pieces = [bytes];
  return Far('Reader', {
    next: async () => {
      const piece = pieces.shift();
      return piece ? { value: Buffer.from(piece).toString('base64'), done: false } : { value: undefined, done: true };
    },
  });
};

/** Files and directories as an object, as Endo's command line hands them over. */
const treeOf = files =>
  Far('Tree', {
    list: async () => Object.keys(files),
    lookup: async name => {
      const found = files[name];
      return typeof found === 'string'
        ? Far('File', { streamBase64: async () => readerOf(Buffer.from(found)) })
        : treeOf(found);
    },
    has: async name => name in files,
  });

const program = {
  'package.json': '{ "name": "counter", "main": "./src/main.js" }',
  'README.md': '# Not run',
  src: {
    'main.js': `
      import { double } from './math.js';
      export const make = (powers, context, { env, state }) => {
        let count = 1;
        return Far('Counter', {
          up: () => { count = double(count); return count; },
          env: () => env,
          id: () => context.id(),
          look: () => E(powers).list(),
          keep: value => E(state).set('kept', value),
          kept: () => E(state).get('kept'),
          cancel: why => context.cancel(Error(why)),
          late: () => context.whenCancelled(),
        });
      };`,
    'math.js': 'export const double = n => n * 2;',
  },
};

test('modules: an archive of sources that Endo has packed', async client => {
  const { host } = await client();
  await E(host).storeBlob(readerOf(tally), 'tally-archive');
  const made = await E(host).makeArchive(undefined, 'tally-archive', { resultName: 'tally', env: { NAME: 'Tally' } });
  ok(String(made).includes('Tally'), String(made));
  equal(await E(made).up(), 42);
  equal(await E(made).greet('king'), 'GOOD DAY, THE KING!');
  const found = await E(host).lookup('tally');
  equal(await E(found).up(), 43);
  equal(await E(host).identify('tally') !== undefined, true);
});

test('modules: a bundle is an archive in a record, as a value and as text', async client => {
  const { host } = await client();
  const bundle = { moduleFormat: 'endoZipBase64', endoZipBase64: tally.toString('base64') };
  await E(host).storeValue(bundle, 'bundle-value');
  await E(host).writeText('bundle-text', JSON.stringify(bundle));
  for (const name of ['bundle-value', 'bundle-text']) {
    const made = await E(host).makeBundle('@main', name);
    equal(await E(made).up(), 42, name);
  }
  await E(host).storeValue({ moduleFormat: 'nestedEvaluate', source: '1' }, 'other-bundle');
  await fails(E(host).makeBundle('@main', 'other-bundle'), '`nestedEvaluate` cannot be run');
});

test('modules: a tree of files, with powers and variables', async client => {
  const { host } = await client();
  await E(host).storeTree(treeOf(program), 'counter-tree');
  const room = await E(host).makeDirectory('counter-room');
  ok(room, 'a directory');
  await E(host).storeValue(1, ['counter-room', 'x']);
  const options = { powersName: 'counter-room', resultName: 'counter', env: { A: 'b' }, workerTrustedShims: [] };
  const made = await E(host).makeFromTree(undefined, 'counter-tree', options);
  equal([await E(made).up(), await E(made).up()], [2, 4]);
  equal(await E(made).env(), { A: 'b' });
  equal(await E(made).look(), ['x']);
  equal((await E(made).id()).length, 129);
  await E(made).keep('this');
  // Another program of the same modules begins for itself.
  const again = await E(host).makeFromTree('@main', 'counter-tree', {});
  equal([await E(again).up(), await E(again).kept(), await E(made).kept()], [2, undefined, 'this']);
  // It has no powers, unless they are named.
  await fails(E(again).look(), 'not allowed');
});

test('modules: what was made is made again after a restart', async client => {
  const { host } = await client();
  await E(host).storeTree(treeOf(program), 'again-tree');
  const made = await E(host).makeFromTree('@main', 'again-tree', { resultName: 'again' });
  equal([await E(made).up(), await E(made).up()], [2, 4]);
  await E(made).keep('this');
  const id = await E(made).id();
  await E(host).remove('again-tree');
  for (const signal of ['SIGTERM', 'SIGKILL']) {
    await stop(signal);
    await start();
    const { host: later } = await client();
    const found = await E(later).lookup('again');
    equal([await E(found).up(), await E(found).kept(), await E(found).id()], [2, 'this', id], signal);
  }
});

test('modules: a directory, as it is when it is made', async client => {
  const { host } = await client();
  const root = inFolder('program');
  fs.mkdirSync(path.join(root, 'src'), { recursive: true });
  fs.writeFileSync(path.join(root, 'package.json'), program['package.json']);
  for (const [name, text] of Object.entries(program.src)) {
    fs.writeFileSync(path.join(root, 'src', name), text);
  }
  await E(host).provideMount(root, 'program');
  const made = await E(host).makeFromTree('@main', 'program', { resultName: 'of-mount' });
  equal(await E(made).up(), 2);
  fs.writeFileSync(path.join(root, 'src', 'math.js'), 'export const double = n => n * 3;');
  await stop();
  await start();
  const { host: later } = await client();
  equal(await E(E(later).lookup('of-mount')).up(), 2);
  equal(await E(await E(later).makeFromTree('@main', 'program', {})).up(), 3);
});

test('modules: powers under a name that nothing has are those of a new guest', async client => {
  const { host } = await client();
  const source = `export const make = async powers => {
    await E(powers).storeValue('made', 'mine');
    return E(powers).list();
  };`;
  await E(host).storeTree(treeOf({ 'index.js': source }), 'guest-tree');
  const options = { powersName: 'fresh-powers' };
  const listed = await E(host).makeFromTree('@main', 'guest-tree', options);
  equal(listed, ['@agent', '@host', '@mail', '@self', 'mine']);
  equal(await E(E(host).lookup('fresh-powers')).lookup('mine'), 'made');
  // The same name is the same guest.
  equal(await E(host).makeFromTree('@main', 'guest-tree', options), listed);
});

test('modules: a program ends itself', async client => {
  const { host } = await client();
  await E(host).storeTree(treeOf(program), 'end-tree');
  const made = await E(host).makeFromTree('@main', 'end-tree', { resultName: 'ends' });
  equal(await E(made).up(), 2);
  await fails(E(made).cancel('it was enough'), 'it was enough');
  equal(await E(made).up(), 2, 'it is made anew');
  // Somebody else ends it: it is told, and so is whoever waits.
  equal(await E(made).up(), 4);
  const told = E(made).late();
  told.catch(() => {});
  ok(await isPending(told), 'told early');
  await E(host).cancel('ends', Error('by its owner'));
  await fails(told, 'by its owner');
  equal(await E(made).up(), 2, 'it is made anew again');
  const early = `export const make = async (powers, context) => {
    await context.cancel(Error('too early'));
    return 'not reached';
  };`;
  await E(host).storeTree(treeOf({ 'index.js': early }), 'early-tree');
  await fails(E(host).makeFromTree('@main', 'early-tree', {}), 'too early');
});

test('modules: what cannot be run is refused with the reason', async client => {
  const { host } = await client();
  const make = (files, options = {}) =>
    E(host)
      .storeTree(treeOf(files), 'wrong-tree')
      .then(() => E(host).makeFromTree('@main', 'wrong-tree', options));
  const good = { 'index.js': 'export const make = () => 1;' };
  for (const name of ['fs', 'node:fs', '@endo/far', 'file:///etc/passwd', 'https://example.org/x.js']) {
    const files = { 'index.js': `import '${name}'; export const make = () => 1;` };
    await fails(make(files), `index.js imports "${name}"`);
  }
  await fails(make({ 'index.js': "import '../x.js'; export const make = () => 1;" }), 'leads out of its package');
  await fails(make({ 'index.js': 'export const other = 1;' }), 'exports no function `make`');
  await fails(make({ 'index.js': 'export const make = () => {\n  null.x;\n};' }), 'index.js:2:3');
  await fails(make({ 'other.js': 'export const make = () => 1;' }), 'no file `index.js`');
  await fails(make(good, { workerTrustedShims: ['./shim.js'] }), 'workerTrustedShims');
  await fails(make(good, { power: 'x' }), 'there is no option "power"');
  await fails(make(good, { env: { A: 1 } }), 'must be text');
  equal(await make(good), 1);
  await E(host).writeText('bad-archive', 'PK no archive');
  await fails(E(host).makeArchive('@main', 'bad-archive'), 'the archive cannot be read');
  await E(host).storeBlob(readerOf(tally.subarray(0, tally.length - 100)), 'cut-archive');
  await fails(E(host).makeArchive('@main', 'cut-archive'), 'the archive cannot be read');
  const other = Buffer.from(tally);
  // The first byte of the first file's content: its digest is another then, or it cannot be unpacked.
  other[60 + other.readUInt16LE(26)] ^= 1;
  await E(host).storeBlob(readerOf(other), 'forged-archive');
  await fails(E(host).makeArchive('@main', 'forged-archive'), /its digest is another|cannot be read/);
  await fails(E(host).makeArchive('@main', 'wrong-tree'), 'not an archive');
  await fails(E(host).makeFromTree('@main', 'bad-archive'), 'not a tree of files');
  await fails(E(host).makeArchive('wrong-tree', 'bad-archive'), 'Cannot evaluate using non-worker');
  await fails(E(host).makeArchive('@main', 'nobody'), 'Unknown pet name: "nobody"');
  await fails(E(host).makeUnconfined('@main', 'file:///tmp/x.js'), 'all powers of the machine is not run here');
});

test('modules: a guest makes none', async client => {
  const { host } = await client();
  const guest = await E(host).provideGuest('modules-guest', { agentName: 'modules-guest-agent' });
  await fails(E(guest).makeArchive('@main', 'x'), 'has no method', 'TypeError');
});

test('modules: code that has a host makes one once', async client => {
  const { host } = await client();
  await E(host).storeTree(treeOf(program), 'code-tree');
  const source = `E(E(host).makeFromTree('@main', 'code-tree', { resultName: 'by-code' })).up()`;
  equal(await E(host).evaluate('@main', source, ['host'], ['@agent']), 2);
  equal(await E(E(host).lookup('by-code')).up(), 4);
});

// Directories.
import { E, Far } from '@endo/far';
import { M } from '@endo/patterns';
import { almoner, equal, fails, newGuest, ok, test } from './harness.mjs';

test('names: a value is kept and found', async client => {
  const { host } = await client();
  const values = {
    text: 'text',
    number: -0.5,
    bigint: 12345678901234567890n,
    nothing: undefined,
    null: null,
    record: { a: [1, { b: true }], '@qclass': 'not special', '': 0 },
    'not a number': NaN,
    unicode: 'é🧙\u0000\u2028',
  };
  for (const [name, value] of Object.entries(values)) {
    await E(host).storeValue(value, `value ${name}`);
    equal(await E(host).lookup(`value ${name}`), value, name);
  }
  ok(Number.isNaN(await E(host).lookup('value not a number')), 'not NaN');
});

test('names: patterns and tagged values are data', async client => {
  const { host } = await client();
  await E(host).storeValue(M.arrayOf(M.string()), 'pattern');
  const pattern = await E(host).lookup('pattern');
  equal(pattern[Symbol.toStringTag], 'match:arrayOf');
});

test('names: a list has the special ones first', async client => {
  const { host } = await client();
  const { guest } = await newGuest(E, host);
  await E(guest).storeValue(1, 'b');
  await E(guest).storeValue(1, 'a');
  equal(await E(guest).list(), ['@agent', '@host', '@mail', '@self', 'a', 'b']);
});

test('names: has, identify, locate', async client => {
  const { bootstrap, host } = await client();
  await E(host).storeValue(1, 'located');
  equal(await E(host).has('located'), true);
  equal(await E(host).has('nobody'), false);
  const id = await E(host).identify('located');
  ok(/^[0-9a-f]{64}:[0-9a-f]{64}$/.test(id), id);
  const [number, node] = id.split(':');
  equal(node, await E(bootstrap).nodeId());
  equal(await E(host).locate('located'), `endo://${node}/?id=${number}&type=marshal`);
  equal(await E(host).identify('nobody'), undefined);
  equal(await E(host).locate('nobody'), undefined);
});

test('names: looking up what is not there', async client => {
  const { host } = await client();
  await fails(E(host).lookup('nobody'), 'Unknown pet name: "nobody"');
  await fails(E(host).lookup(['nobody', 'x']), 'Unknown pet name: "nobody"');
  equal(await E(host).maybeLookup('nobody'), undefined);
});

test('names: what is no name', async client => {
  const { host } = await client();
  await fails(E(host).storeValue(1, 'a/b'), 'Invalid name "a/b"');
  await fails(E(host).storeValue(1, '@self'), 'Invalid pet name "@self"');
  await fails(E(host).lookup([]), 'Invalid name path');
  await fails(E(host).remove('@self'), 'Invalid pet name "@self"');
  await fails(E(host).has(), 'Invalid name path');
});

test('names: directories', async client => {
  const { host } = await client();
  const directory = await E(host).makeDirectory('folder');
  ok(String(directory).includes('EndoDirectory'), String(directory));
  ok((await E(host).lookup('folder')) === directory, 'two objects');
  await E(host).makeDirectory(['folder', 'inner']);
  await E(host).storeValue('deep', ['folder', 'inner', 'x']);
  equal(await E(host).lookup(['folder', 'inner', 'x']), 'deep');
  equal(await E(directory).lookup(['inner', 'x']), 'deep');
  equal(await E(directory).list(), ['inner']);
  equal(await E(directory).list('inner'), ['x']);
  equal(await E(directory).has('inner', 'x'), true);
  await E(directory).makeDirectory('by-itself');
  equal(await E(host).list('folder'), ['by-itself', 'inner']);
});

test('names: move, copy, remove', async client => {
  const { host } = await client();
  await E(host).makeDirectory('box');
  await E(host).storeValue('v', 'from');
  await E(host).copy(['from'], ['box', 'copied']);
  equal(await E(host).identify('box', 'copied'), await E(host).identify('from'));
  await E(host).move(['from'], ['box', 'moved']);
  equal(await E(host).has('from'), false);
  equal(await E(host).lookup(['box', 'moved']), 'v');
  await E(host).remove('box', 'moved');
  equal(await E(host).list('box'), ['copied']);
  await fails(E(host).remove('box', 'moved'), 'Unknown pet name: "moved"');
  await fails(E(host).copy('from', 'to'), 'Must be a copyArray');
});

test('names: move overwrites', async client => {
  const { host } = await client();
  await E(host).storeValue('new', 'over');
  await E(host).storeValue('old', 'under');
  await E(host).move(['over'], ['under']);
  equal(await E(host).lookup('under'), 'new');
});

test('names: the way back', async client => {
  const { host } = await client();
  const directory = await E(host).makeDirectory('back');
  await E(host).copy(['back'], ['back-2']);
  equal(await E(host).reverseLookup(directory), ['back', 'back-2']);
  equal(await E(host).reverseLocate(await E(host).locate('back')), ['back', 'back-2']);
  equal(await E(host).reverseIdentify(await E(host).identify('back')), ['back', 'back-2']);
  equal(await E(host).reverseLookup('text'), []);
  equal(await E(host).reverseLookup(Far('mine', {})), []);
});

test('names: identifiers and locators of what is there', async client => {
  const { host } = await client();
  await E(host).makeDirectory('all');
  await E(host).storeValue(1, ['all', 'one']);
  await E(host).copy(['all', 'one'], ['all', 'same']);
  const id = await E(host).identify('all', 'one');
  equal(await E(host).listIdentifiers('all'), [id]);
  const locators = await E(host).listLocators('all');
  equal(Object.keys(locators), ['one', 'same']);
  equal(locators.one, await E(host).locate('all', 'one'));
  await E(host).storeIdentifier(['all', 'by-id'], id);
  await E(host).storeLocator(['all', 'by-locator'], locators.one);
  equal(await E(host).list('all'), ['by-id', 'by-locator', 'one', 'same']);
  await fails(E(host).storeLocator('x', 'nonsense'), 'Invalid locator');
});

test('names: a value may refer to objects', async client => {
  const { host } = await client();
  const directory = await E(host).makeDirectory('referred');
  await E(host).storeValue({ directory, also: [directory] }, 'referring');
  const found = await E(host).lookup('referring');
  ok(found.directory === directory && found.also[0] === directory, 'something else');
});

test('names: what has no formula is not kept', async client => {
  const { host } = await client();
  await fails(E(host).storeValue({ x: Far('mine', {}) }, 'mine'), 'not durable: give it a name first');
  equal(await E(host).has('mine'), false);
});

test('names: upper case stands for special names', async client => {
  const { host } = await client();
  ok((await E(host).lookup('SELF')) === (await E(host).lookup('@self')), 'not the same');
});

test('names: sharing by a token that works once', async client => {
  const { host } = await client();
  const { guest } = await newGuest(E, host);
  await E(host).makeDirectory('shared');
  await E(host).storeValue('inside', ['shared', 'x']);
  const locator = await E(host).locateForSharing('shared');
  await E(guest).adoptFromLocator(locator, 'got');
  equal(await E(guest).lookup(['got', 'x']), 'inside');
  await fails(E(guest).adoptFromLocator(locator, 'again'), 'this token was used');
});

test('names: a directory whose grant was revoked is no longer reached', async client => {
  const { host } = await client();
  const { guest, name } = await newGuest(E, host);
  await E(host).makeDirectory('lent');
  await E(host).storeValue('inside', ['lent', 'x']);
  await E(host).send(name, ['take ', ''], ['lent'], ['lent']);
  const { number } = (await E(guest).listMessages()).at(-1);
  await E(guest).adopt(number, 'lent', 'mine');
  const mine = await E(guest).lookup('mine');
  equal(await E(mine).lookup('x'), 'inside');
  const grants = JSON.parse(almoner('grants', '--json'));
  almoner('revoke', `g${grants.at(-1).number}`);
  await fails(E(mine).lookup('x'), 'revoked');
  await fails(E(guest).lookup(['mine', 'x']), 'revoked');
});

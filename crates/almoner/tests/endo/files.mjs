// Directories of this machine, directories that the daemon keeps, and trees.
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { E, Far } from '@endo/far';
import { almoner, equal, fails, isPending, lastMessage, newGuest, ok, place, sleep, start, stop, test } from './harness.mjs';

const folder = process.env.ENDO_SUITE_FOLDER;
let folders = 0;

/** A directory of this machine with some files in it, and links that lead out of it. */
const newFolder = () => {
  folders += 1;
  const root = path.join(folder, `files-${folders}`);
  fs.mkdirSync(path.join(root, 'sub/deep'), { recursive: true });
  fs.mkdirSync(path.join(folder, 'outside'), { recursive: true });
  fs.writeFileSync(path.join(folder, 'outside/secret'), 'CANARY');
  for (const [file, text] of [['a.md', 'a'], ['data.json', '{"n":1}'], ['sub/b.md', 'b'], ['sub/deep/c.md', 'c']]) {
    fs.writeFileSync(path.join(root, file), text);
  }
  fs.symlinkSync('../outside', path.join(root, 'out'));
  fs.symlinkSync('..', path.join(root, 'sub/up'));
  return root;
};

const collect = async reader => {
  const pieces = [];
  for (;;) {
    const { value, done } = await E(reader).next();
    if (done) {
      return Buffer.concat(pieces);
    }
    pieces.push(Buffer.from(value, 'base64'));
  }
};

const readerOf = bytes => {
  let at = 0;
  return Far('Reader', {
    next: async () => {
      const piece = bytes.subarray(at, at + 50_000);
      at += piece.length;
      return piece.length === 0
        ? harden({ value: undefined, done: true })
        : harden({ value: Buffer.from(piece).toString('base64'), done: false });
    },
  });
};

const sha256 = bytes => createHash('sha256').update(bytes).digest('hex');

test('mounts: a directory of this machine', async client => {
  const { host } = await client();
  const root = newFolder();
  const mount = await E(host).provideMount(root, 'mount');
  ok(String(mount).includes('EndoMount'), String(mount));
  ok((await E(host).lookup('mount')) === mount, 'another object');
  ok((await E(host).provideMount(root, 'mount')) === mount, 'made again');
  equal(await E(mount).list(), ['a.md', 'data.json', 'sub']);
  equal(await E(mount).list('sub', 'deep'), ['c.md']);
  equal(await E(mount).has('a.md'), true);
  equal(await E(mount).has('sub', 'nothing'), false);
  equal(await E(mount).has(), true);
  equal(await E(mount).readText('a.md'), 'a');
  equal(await E(mount).readText(['sub', 'b.md']), 'b');
  equal(await E(mount).maybeReadText('nothing'), undefined);
  await fails(E(mount).readText('nothing'), 'there is no such file');
  await E(mount).writeText('new.md', 'new');
  equal(fs.readFileSync(path.join(root, 'new.md'), 'utf8'), 'new');
  await E(mount).writeText('new.md', 'newer');
  await E(mount).move('new.md', ['sub', 'moved.md']);
  equal(fs.readFileSync(path.join(root, 'sub/moved.md'), 'utf8'), 'newer');
  const made = await E(mount).makeDirectory(['one', 'two']);
  equal(await E(made).list(), []);
  await fails(E(mount).remove('one'), 'could not remove `one`');
  await E(mount).remove('one', 'two');
  await E(mount).remove('one');
  await E(mount).remove('sub', 'moved.md');
  equal(fs.readdirSync(path.join(root, 'sub')).sort(), ['b.md', 'deep', 'up']);
  ok((await E(mount).help()).includes('EndoMount'), 'no help');
  await fails(E(mount).nonsense(), 'target has no method', 'TypeError');
  await fails(E(mount).readText(1), 'In "readText" method of (EndoMount)');
});

test('mounts: files', async client => {
  const { host } = await client();
  const root = newFolder();
  const mount = await E(host).provideMount(root, 'with-files');
  const file = await E(mount).lookup('a.md');
  ok(String(file).includes('EndoMountFile'), String(file));
  equal(await E(file).text(), 'a');
  await E(file).writeText('changed');
  equal(fs.readFileSync(path.join(root, 'a.md'), 'utf8'), 'changed');
  equal(await E(E(mount).lookup('data.json')).json(), { n: 1 });
  const bytes = Buffer.from(Array.from({ length: 123_457 }, (_, i) => (i * 7) % 256));
  await E(file).writeBytes(readerOf(bytes));
  ok(fs.readFileSync(path.join(root, 'a.md')).equals(bytes), 'other bytes');
  ok((await collect(E(file).streamBase64())).equals(bytes), 'other bytes');
  await fails(E(file).text(), 'not text in UTF-8');
  await fails(E(E(file).readOnly()).writeText('x'), 'for reading only');
  await fails(E(file).writeBytes(mount), 'the reader must be an object of the caller');
  await fails(E(file).list(), 'target has no method', 'TypeError');
  // A file that goes is gone for whoever holds it.
  fs.rmSync(path.join(root, 'a.md'));
  await fails(E(file).text(), 'there is no such file');
});

test('mounts: names lead through them', async client => {
  const { host } = await client();
  await E(host).makeDirectory('places');
  const root = newFolder();
  await E(host).provideMount(root, ['places', 'here']);
  equal(await E(host).readText(['places', 'here', 'sub', 'b.md']), 'b');
  equal(await E(host).maybeReadText(['places', 'here', 'nothing']), undefined);
  equal(await E(host).list('places', 'here', 'sub'), ['b.md', 'deep', 'up']);
  equal(await E(host).has('places', 'here', 'a.md'), true);
  await E(host).writeText(['places', 'here', 'w.md'], 'w');
  equal(fs.readFileSync(path.join(root, 'w.md'), 'utf8'), 'w');
  equal(await E(E(host).lookup(['places', 'here', 'w.md'])).text(), 'w');
  await E(host).remove('places', 'here', 'w.md');
  await fails(E(host).writeText(['places', 'here', '..', 'x'], 'x'), 'Invalid name');
  await fails(E(host).storeValue(1, ['places', 'here', 'x']), 'is not a directory');
});

test('mounts: nothing leads out', async client => {
  const { host } = await client();
  const root = newFolder();
  const mount = await E(host).provideMount(root, 'closed');
  const sub = await E(mount).lookup('sub');
  equal(await E(sub).list(), ['b.md', 'deep']);
  const hostile = ['..', '.', '', '/', '/etc/passwd', 'a/b', '../a.md', 'a\u0000', 'x'.repeat(256), 'x'.repeat(100_000)];
  for (const name of hostile) {
    for (const each of [mount, sub]) {
      await fails(E(each).readText(name), /Invalid name|Must be/, undefined);
      await fails(E(each).lookup(['b.md', name]), /Invalid name|Must be/);
      await fails(E(each).writeText(name, 'x'), /Invalid name|Must be/);
      await fails(E(each).remove(name), /Invalid name|Must be/);
      await fails(E(each).move('b.md', name), /Invalid name|Must be/);
      await fails(E(each).has(name), /Invalid name|Must be/);
    }
  }
  await fails(E(sub).readText(Array(65).fill('x')), 'Invalid name path');
  for (const name of ['%2e%2e', '．．', 'a\\b', 'tab\t', '\u202e.md']) {
    await fails(E(sub).writeText(name, 'x'), /hides|backslash|control|see/);
  }
  // A link is no way out, and of a part not even to what the part lies in.
  await fails(E(mount).readText(['out', 'secret']), 'leads out');
  await fails(E(mount).lookup('out'), 'leads out');
  await fails(E(mount).writeText(['out', 'new'], 'x'), 'symbolic link');
  await fails(E(sub).readText(['up', 'a.md']), 'leads out');
  equal(await E(sub).has('up', 'a.md'), false);
  await fails(E(sub).writeText(['up', 'x'], 'x'), 'symbolic link');
  // The client looked up a directory. If a symbolic link replaces it, the mount does not follow the link.
  fs.renameSync(path.join(root, 'sub'), path.join(root, 'was'));
  fs.symlinkSync('../outside', path.join(root, 'sub'));
  await fails(E(sub).readText('secret'), /symbolic link|leads out/);
  await fails(E(sub).list(), /symbolic link|leads out/);
  equal(fs.readdirSync(path.join(folder, 'outside')), ['secret']);
  // Names that people have are names here.
  for (const name of ['ünï 🧙.md', '@scope', '...', 'a b']) {
    await E(mount).writeText(name, name);
    equal(await E(mount).readText(name), name);
  }
});

test('mounts: what cannot be bound', async client => {
  const { host } = await client();
  const root = newFolder();
  await fails(E(host).provideMount('relative', 'bad'), 'absolute path');
  await fails(E(host).provideMount(path.join(root, 'nothing'), 'bad'), 'cannot be bound');
  await fails(E(host).provideMount(path.join(root, 'a.md'), 'bad'), 'no directory');
  await fails(E(host).provideMount(root, 'bad', { readOnly: 'yes' }), 'readOnly must be a boolean');
  await fails(E(host).provideMount(root, '@bad'), 'Invalid pet name');
  equal(await E(host).has('bad'), false);
  const { guest } = await newGuest(E, host);
  await fails(E(guest).provideMount(root, 'mine'), 'target has no method', 'TypeError');
});

test('mounts: for reading only', async client => {
  const { host } = await client();
  const root = newFolder();
  const whole = await E(host).provideMount(root, 'read-only', { readOnly: true });
  const open = await E(host).provideMount(root, 'read-write');
  for (const mount of [whole, E(open).readOnly(), E(E(open).readOnly()).lookup('sub'), E(E(open).lookup('sub')).readOnly()]) {
    await fails(E(mount).writeText('x.md', 'x'), 'for reading only');
    await fails(E(mount).makeDirectory('x'), 'for reading only');
    await fails(E(mount).remove('b.md'), 'for reading only');
    await fails(E(mount).move('b.md', 'c.md'), 'for reading only');
  }
  await fails(E(E(whole).lookup(['sub', 'b.md'])).writeText('x'), 'for reading only');
  equal(await E(E(whole).lookup('sub')).readText('b.md'), 'b');
});

test('mounts: handed to a guest, and taken back', async client => {
  const [one, two] = [await client(), await client()];
  const { host } = one;
  const root = newFolder();
  await E(host).provideMount(root, 'lent');
  const { name, agent, guest } = await newGuest(E, host);
  await E(host).send(name, ['', ''], ['files'], ['lent']);
  const { number } = await lastMessage(E, guest);
  await E(guest).adopt(number, 'files', 'files');
  const files = await E(guest).lookup('files');
  const sub = await E(files).lookup('sub');
  const file = await E(sub).lookup('b.md');
  const byPath = await E(guest).lookup(['files', 'sub', 'b.md']);
  const narrow = await E(E(files).readOnly()).lookup('sub');
  const snapshot = await E(sub).snapshot();
  // Another client of the same agent.
  const theirs = await E(E(two.host).lookup(agent)).lookup('files');
  equal(await E(theirs).readText('a.md'), 'a');
  await E(file).writeText('by the guest');
  equal(fs.readFileSync(path.join(root, 'sub/b.md'), 'utf8'), 'by the guest');
  // A directory that the guest looked up inside a mount has no formula, so the guest cannot store it.
  await fails(E(guest).storeValue(sub, 'kept'), 'not durable');
  const grants = JSON.parse(almoner('grants', '--json'));
  almoner('revoke', `g${grants.at(-1).number}`);
  for (const call of [
    E(files).list(), E(sub).list(), E(sub).readText('b.md'), E(file).text(), E(file).writeText('x'),
    E(byPath).text(), E(narrow).list(), E(theirs).readText('a.md'), E(guest).readText(['files', 'a.md']),
    E(files).lookup('sub'), E(snapshot).list(), E(file).streamBase64(), E(sub).snapshot(),
  ]) {
    await fails(call, 'revoked');
  }
  equal(await E(host).readText(['lent', 'sub', 'b.md']), 'by the guest');
});

/** The number of the card that a call which waits has made, or makes. */
const card = async waits => {
  for (const end = Date.now() + 20_000; ; await sleep(50)) {
    ok(await isPending(waits), 'nobody is asked');
    const open = JSON.parse(almoner('inbox', '--json'));
    const cards = open.filter(letter => letter.message.body.type === 'approval');
    if (cards.length > 0) {
      return Math.max(...cards.map(letter => letter.number));
    }
    ok(Date.now() < end, 'no card has come');
  }
};

test('mounts: what was handed to a guest is used under the gates', async client => {
  const { host } = await client();
  const root = newFolder();
  fs.writeFileSync(path.join(root, '.env'), 'KEY=words\n');
  fs.mkdirSync(path.join(root, '.git'));
  fs.symlinkSync('.env', path.join(root, 'harmless.txt'));
  fs.mkdirSync(path.join(root, '.ssh'));
  fs.symlinkSync('.ssh', path.join(root, 'keys'));
  const own = await E(host).provideMount(root, 'gated');
  const { name, guest } = await newGuest(E, host);
  await E(host).storeTree(own, 'gated-tree');
  await E(host).send(name, ['', '', ''], ['files', 'tree'], ['gated', 'gated-tree']);
  const { number } = await lastMessage(E, guest);
  await E(guest).adopt(number, 'files', 'files');
  await E(guest).adopt(number, 'tree', 'tree');
  const files = await E(guest).lookup('files');
  const tree = await E(guest).lookup('tree');
  const sub = await E(files).lookup('sub');
  const key = ['AKIA', 'Z7QXW3TN', '5VJR2KLM'].join('');
  const refused = [
    [() => E(files).readText('.env'), 'holds keys'],
    [() => E(files).readText('harmless.txt'), 'holds keys'],
    [() => E(E(files).lookup('.env')).text(), 'holds keys'],
    [() => E(E(files).lookup('.env')).writeText('mine'), 'holds keys'],
    [() => E(files).snapshot(), 'holds keys'],
    [() => E(files).list('keys'), 'holds keys'],
    [() => E(files).move('.git', 'g'), 'moved by its owner'],
    [() => E(files).move('sub', '.git'), 'moved by its owner'],
  ];
  for (const [call, says] of refused) {
    await fails(call(), says);
  }
  // The daemon asks the user about each change that needs approval. If the user says no, the caller gets the reason.
  const asked = [
    () => E(files).writeText('.env', 'mine'),
    () => E(files).writeText(['.git', 'config'], '[core]'),
    () => E(files).remove('.env'),
    () => E(files).move('a.md', ['.git', 'config']),
    () => E(files).move('.env', 'b.txt'),
    () => E(files).makeDirectory(['.git', 'hooks', 'pre-commit']),
    () => E(sub).writeText('note.md', `the key is ${key}`),
  ];
  for (const call of asked) {
    const waits = call();
    const number = await card(waits);
    almoner('deny', `${number}`, '--reason', 'not by hand');
    await fails(waits, 'not by hand');
  }
  equal(fs.readFileSync(path.join(root, '.env'), 'utf8'), 'KEY=words\n');
  equal(fs.readdirSync(path.join(root, '.git')), []);
  equal(fs.readFileSync(path.join(root, 'a.md'), 'utf8'), 'a');
  ok(!fs.existsSync(path.join(root, 'sub', 'note.md')), 'a key was written');
  // The gates let other calls through at once.
  await E(files).writeText('note.md', 'fine');
  equal(await E(files).readText('note.md'), 'fine');
  await E(files).move('note.md', ['sub', 'moved.md']);
  // A yes is for what was shown, once.
  const waits = E(files).writeText(['.git', 'config'], '[core]');
  const asks = await card(waits);
  const shown = almoner('inbox', `${asks}`);
  for (const says of [`@${name}`, 'files.write', '.git/config', '[core]', 'a program does what']) {
    ok(shown.includes(says), `${says} is not on the card: ${shown}`);
  }
  almoner('approve', `${asks}`);
  equal(await waits, undefined);
  equal(fs.readFileSync(path.join(root, '.git', 'config'), 'utf8'), '[core]');
  const again = E(files).writeText(['.git', 'config'], '[core] again');
  almoner('deny', `${await card(again)}`);
  await fails(again, 'the host said no');
  // A tree is data: whoever was given it has what is in it.
  equal(await E(await E(tree).lookup('.env')).text(), 'KEY=words\n');
  ok((await E(files).list()).includes('.env'), 'a name is no key');
  equal(await E(await E(sub).snapshot()).has('b.md'), true);
  equal(await E(own).readText('.env'), 'KEY=words\n');
  await E(own).writeText(['.git', 'config'], '[core]');
});

test('mounts: the operator forbids what a guest does with what it was handed', async client => {
  const { host } = await client();
  const root = newFolder();
  const own = await E(host).provideMount(root, 'ruled');
  const { name, guest } = await newGuest(E, host);
  await E(host).send(name, ['', ''], ['files'], ['ruled']);
  const { number } = await lastMessage(E, guest);
  await E(guest).adopt(number, 'files', 'files');
  const files = await E(guest).lookup('files');
  await E(files).writeText('first.log', 'before');
  const rules = path.join(place.state, 'config', 'policy.cedar');
  fs.mkdirSync(path.dirname(rules), { recursive: true });
  const forbid = (action, ending) =>
    `@reason("no ${ending} by hand")\nforbid(principal == Worker::"@agent", action == Action::"dir.${action}", resource) when { context has path && context.path like "*.${ending}" };\n`;
  fs.writeFileSync(rules, forbid('write', 'log') + forbid('read', 'md'));
  try {
    await fails(E(files).writeText('second.log', 'x'), 'no log by hand');
    await fails(E(files).remove('first.log'), 'no log by hand');
    await fails(E(files).move('a.md', 'a.log'), 'by hand');
    await fails(E(files).readText('a.md'), 'no md by hand');
    await E(files).writeText('second.txt', 'x');
    await E(own).writeText('second.log', 'the host may');
    fs.writeFileSync(rules, 'forbid(');
    await fails(E(files).writeText('third.log', 'x'), 'no log by hand');
  } finally {
    fs.writeFileSync(rules, 'forbid(principal == Worker::"nobody", action, resource);\n');
  }
});

test('mounts: what lies in a directory that was handed over ends with it, in however many steps', async client => {
  const { host } = await client();
  await E(host).makeDirectory('box');
  await E(host).provideMount(newFolder(), ['box', 'files']);
  const { name, guest } = await newGuest(E, host);
  await E(host).send(name, ['', ''], ['box'], ['box']);
  const { number } = await lastMessage(E, guest);
  await E(guest).adopt(number, 'box', 'box');
  const box = await E(guest).lookup('box');
  const mount = await E(box).lookup('files');
  const sub = await E(mount).lookup('sub');
  equal(await E(sub).readText('b.md'), 'b');
  const grants = JSON.parse(almoner('grants', '--json'));
  almoner('revoke', `g${grants.at(-1).number}`);
  await fails(E(mount).list(), 'revoked');
  await fails(E(sub).readText('b.md'), 'revoked');
  await fails(E(guest).readText(['box', 'files', 'a.md']), 'revoked');
});

test('mounts: they are there after a restart', async client => {
  const { host } = await client();
  const root = newFolder();
  await E(host).provideMount(root, 'lasting', { readOnly: true });
  const scratch = await E(host).provideScratchMount('lasting-scratch');
  await E(scratch).writeText('note', 'kept');
  await stop();
  await start();
  const again = (await client()).host;
  equal(await E(again).readText(['lasting', 'a.md']), 'a');
  await fails(E(again).writeText(['lasting', 'a.md'], 'x'), 'for reading only');
  equal(await E(again).readText(['lasting-scratch', 'note']), 'kept');
  equal(await E(E(again).provideScratchMount('lasting-scratch')).readText('note'), 'kept');
});

test('mounts: one that the daemon keeps goes when nothing refers to it', async client => {
  const first = await client();
  const number = (await (async () => {
    const scratch = await E(first.host).provideScratchMount('passing');
    await E(scratch).makeDirectory(['a', 'b']);
    await E(scratch).writeText(['a', 'b', 'c'], 'c');
    return E(first.host).identify('passing');
  })()).split(':')[0];
  const at = path.join(place.state, 'mounts', number);
  equal(fs.readFileSync(path.join(at, 'a/b/c'), 'utf8'), 'c');
  // The daemon must not remove a directory that it does not know.
  const foreign = path.join(place.state, 'mounts', 'ab'.repeat(32));
  fs.mkdirSync(foreign);
  await first.close();
  const { host } = await client();
  await E(host).remove('passing');
  // The daemon tidies up in a quiet moment, and after a minute at the latest.
  const end = Date.now() + 90_000;
  while (fs.existsSync(at)) {
    ok(Date.now() < end, 'it is still there');
    await sleep(250);
  }
  ok(fs.existsSync(foreign), 'what nobody knows was removed');
  fs.rmdirSync(foreign);
  // A daemon that is killed between collecting and removing leaves the directory to the next one.
  await stop('SIGKILL');
  fs.mkdirSync(path.join(at, 'left'), { recursive: true });
  await start();
  const late = Date.now() + 90_000;
  while (fs.existsSync(at)) {
    ok(Date.now() < late, 'what a crash left is still there');
    await sleep(250);
  }
}, 240);

test('trees: one that does not come is given up, and others come meanwhile', async client => {
  const { host } = await client();
  let asked = 0;
  const silent = Far('Silent', {
    list: () => ['a'],
    lookup: () => {
      asked += 1;
      return new Promise(() => {});
    },
  });
  const never = E(host).storeTree(silent, 'never');
  never.catch(() => {});
  const file = Far('File', {
    streamBase64: () => {
      const pieces = ['YQ==', 'Yg=='];
      return Far('Reader', {
        next: async () => {
          await sleep(1500);
          return pieces.length > 0 ? { value: pieces.shift(), done: false } : { value: undefined, done: true };
        },
      });
    },
  });
  // It is slow, and longer on its way than anybody is waited for without progress.
  const slow = Far('Slow', { list: () => sleep(3000).then(() => ['a']), lookup: () => file });
  const [kept] = await Promise.all([E(host).storeTree(slow, 'slow'), fails(never, 'was given up')]);
  equal(await E(kept).readText('a'), 'ab');
  equal([asked, await E(host).has('never')], [1, false]);
});

test('trees: what a directory holds, as it is now', async client => {
  const { host } = await client();
  const root = newFolder();
  const mount = await E(host).provideMount(root, 'growing');
  const snapshot = await E(mount).snapshot();
  ok(String(snapshot).includes('EndoReadableTree'), String(snapshot));
  const tree = await E(host).storeTree(snapshot, 'tree');
  fs.writeFileSync(path.join(root, 'a.md'), 'later');
  for (const each of [snapshot, tree]) {
    equal(await E(each).list(), ['a.md', 'data.json', 'sub']);
    equal(await E(each).readText('a.md'), 'a');
    equal(await E(each).maybeReadText('nothing'), undefined);
    equal(await E(each).has('sub', 'deep', 'c.md'), true);
  }
});

test('trees: named, looked into, and known by their hash', async client => {
  const { host } = await client();
  const root = newFolder();
  const mount = await E(host).provideMount(root, 'source');
  const tree = await E(host).storeTree(mount, 'kept-tree');
  const list = entries => sha256(JSON.stringify(entries));
  const deep = list([['c.md', 'blob', sha256('c')]]);
  const sub = list([['b.md', 'blob', sha256('b')], ['deep', 'tree', deep]]);
  const whole = list([['a.md', 'blob', sha256('a')], ['data.json', 'blob', sha256('{"n":1}')], ['sub', 'tree', sub]]);
  equal(await E(tree).sha256(), whole);
  const inner = await E(tree).lookup('sub');
  equal(await E(inner).sha256(), sub);
  equal(await E(inner).list(), ['b.md', 'deep']);
  const blob = await E(tree).lookup(['sub', 'b.md']);
  equal(await E(blob).text(), 'b');
  equal(await E(blob).sha256(), sha256('b'));
  equal((await collect(E(blob).streamBase64())).toString(), 'b');
  equal(await E(E(tree).lookup('data.json')).json(), { n: 1 });
  await fails(E(tree).readText('nothing'), 'there is no `nothing`');
  await fails(E(tree).readText('sub'), 'is a directory');
  await fails(E(tree).readText(['..', 'a.md']), 'Invalid name');
  await fails(E(tree).writeText('a.md', 'x'), 'target has no method', 'TypeError');
  equal(await E(host).readText(['kept-tree', 'sub', 'b.md']), 'b');
  equal(await E(host).list('kept-tree'), ['a.md', 'data.json', 'sub']);
  // A part is kept as a tree of its own, and data goes as it is.
  const part = await E(host).storeTree(inner, 'kept-part');
  equal(await E(part).sha256(), sub);
  const { name, guest } = await newGuest(E, host);
  await E(host).send(name, ['', ''], ['tree'], ['kept-tree']);
  const { number } = await lastMessage(E, guest);
  await E(guest).adopt(number, 'tree', 'tree');
  equal(await E(guest).readText(['tree', 'a.md']), 'a');
});

test('trees: copied to where they can be changed', async client => {
  const { host } = await client();
  const mount = await E(host).provideMount(newFolder(), 'template');
  await E(host).storeTree(mount, 'template-tree');
  const staged = await E(host).stageTree('template-tree', 'staged');
  equal(await E(staged).readText(['sub', 'deep', 'c.md']), 'c');
  await E(staged).writeText(['sub', 'deep', 'c.md'], 'changed');
  equal(await E(host).readText(['template-tree', 'sub', 'deep', 'c.md']), 'c');
  equal(await E(host).readText(['staged', 'sub', 'deep', 'c.md']), 'changed');
  await fails(E(host).stageTree('nobody', 'x'), 'Unknown pet name');
});

test('trees: what is none is not kept', async client => {
  const { host } = await client();
  await E(host).storeValue(1, 'no-tree');
  await fails(E(host).storeTree(await E(host).makeDirectory('names'), 'bad'), 'has no files');
  await fails(E(host).stageTree('no-tree', 'bad'), 'has no files');
  equal(await E(host).has('bad'), false);
});

test('files: a long call holds up nobody', async client => {
  const [one, two] = [await client(), await client()];
  const root = path.join(folder, 'many');
  fs.mkdirSync(root);
  for (let i = 0; i < 1500; i += 1) {
    fs.writeFileSync(path.join(root, `f${i}`), `${i}`);
  }
  const mount = await E(one.host).provideMount(root, 'many-files');
  let done = false;
  const snapshot = E(mount).snapshot().then(tree => {
    done = true;
    return tree;
  });
  // The same client, and another, are answered meanwhile.
  await E(one.bootstrap).ping();
  await E(two.host).storeValue(1, 'meanwhile');
  ok(!done, 'they waited for the files');
  equal((await E(snapshot).list()).length, 1500);
}, 120);

/** A tree as Endo's clients make them of their own files. */
const treeOf = files =>
  Far('Tree', {
    list: async () => harden(Object.keys(files)),
    lookup: async name => {
      const found = files[name];
      if (found instanceof Error) {
        throw found;
      }
      if (Buffer.isBuffer(found)) {
        return Far('Blob', { streamBase64: async () => readerOf(found) });
      }
      return found[Symbol.toStringTag] ? found : treeOf(found);
    },
  });

test('trees: handed over by a client, file by file', async client => {
  const { host } = await client();
  const large = Buffer.from(Array.from({ length: 123_457 }, (_, i) => (i * 7) % 256));
  const files = { 'z.md': Buffer.from('z'), large, sub: { 'a.md': Buffer.from('a'), empty: {} }, none: Buffer.alloc(0) };
  const tree = await E(host).storeTree(treeOf(files), 'handed');
  equal(await E(tree).list(), ['large', 'none', 'sub', 'z.md']);
  equal(await E(tree).readText(['sub', 'a.md']), 'a');
  equal(await E(E(tree).lookup(['sub', 'empty'])).list(), []);
  equal(await E(tree).readText('none'), '');
  ok((await collect(E(E(tree).lookup('large')).streamBase64())).equals(large), 'other bytes');
  equal(await E(E(tree).lookup('large')).sha256(), sha256(large));
  // The same files, bound and kept, are the same tree.
  const root = path.join(folder, 'same');
  fs.mkdirSync(path.join(root, 'sub/empty'), { recursive: true });
  fs.writeFileSync(path.join(root, 'z.md'), 'z');
  fs.writeFileSync(path.join(root, 'large'), large);
  fs.writeFileSync(path.join(root, 'none'), '');
  fs.writeFileSync(path.join(root, 'sub/a.md'), 'a');
  const same = await E(host).storeTree(await E(host).provideMount(root, 'same-mount'), 'same');
  equal(await E(same).sha256(), await E(tree).sha256());
});

test('trees: one of a client that makes no sense leaves nothing', async client => {
  const { host } = await client();
  const bad = async (tree, expected) => {
    await fails(E(host).storeTree(tree, 'half-tree'), expected);
    equal(await E(host).has('half-tree'), false);
  };
  await bad(treeOf({ '../x': Buffer.from('x') }), 'Invalid name');
  await bad(treeOf({ '..': Buffer.from('x') }), 'Invalid name');
  await bad(treeOf({ x: Error('the disk is gone') }), 'the disk is gone');
  await bad(treeOf({ x: Far('Nothing', {}) }), 'must have `list` or `streamBase64`');
  await bad(Far('Liar', { list: async () => 'no names' }), 'must list names');
  await bad(Far('Liar', { list: async () => harden(['a', 'a']) }), 'different names');
  await bad(Far('Nothing', {}), 'target has no method "list"');
  await bad(Far('Liar', { list: async () => harden(['a']), lookup: async () => 'text' }), 'must have objects');
  // One that has no end.
  const deep = Far('Deep', { list: async () => harden(['a']), lookup: async () => deep });
  await bad(deep, 'too deep');
  // And the client is well.
  await E(host).storeTree(treeOf({ a: Buffer.from('a') }), 'well-tree');
  equal(await E(host).readText(['well-tree', 'a']), 'a');
});

test('files: what somebody has changed is not staged over', async client => {
  const { host } = await client();
  await E(host).provideScratchMount('stage-from');
  await E(host).writeText(['stage-from', 'a'], 'one');
  await E(host).storeTree(await E(host).lookup('stage-from'), 'stage-tree');
  await E(host).stageTree('stage-tree', 'stage-to');
  // Once more, as somebody does whose first try was cut off.
  await E(host).stageTree('stage-tree', 'stage-to');
  equal(await E(host).readText(['stage-to', 'a']), 'one');
  await E(host).writeText(['stage-to', 'a'], 'two');
  await fails(E(host).stageTree('stage-tree', 'stage-to'), 'is there already');
  equal(await E(host).readText(['stage-to', 'a']), 'two');
});

test('files: what is the daemon\'s own is bound by nobody', async client => {
  const { host } = await client();
  for (const directory of [place.state, `${place.state}/store`, '/', path.dirname(place.state)]) {
    await fails(E(host).provideMount(directory, 'own-files'), 'keeps its own files there');
  }
  equal(await E(host).has('own-files'), false);
});

// Texts and bytes.
import { createHash } from 'node:crypto';
import { E, Far } from '@endo/far';
import { equal, fails, newGuest, ok, test } from './harness.mjs';

/** A reader as Endo's clients make them: an iterator over text in Base64. */
const readerOf = (bytes, size = 10_000, { fail = false } = {}) => {
  let at = 0;
  return Far('Reader', {
    next: async () => {
      if (fail && at > 0) {
        throw Error('the disk is gone');
      }
      if (at >= bytes.length) {
        return harden({ value: undefined, done: true });
      }
      const piece = bytes.subarray(at, at + size);
      at += size;
      return harden({ value: Buffer.from(piece).toString('base64'), done: false });
    },
    return: async () => harden({ value: undefined, done: true }),
    throw: async () => harden({ value: undefined, done: true }),
  });
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

test('texts: written and read', async client => {
  const { host } = await client();
  await E(host).writeText('note', 'héllo');
  equal(await E(host).readText('note'), 'héllo');
  equal(await E(host).maybeReadText('note'), 'héllo');
  equal(await E(host).maybeReadText('nobody'), undefined);
  await fails(E(host).readText('nobody'), 'Unknown pet name: "nobody"');
  await E(host).storeValue(1, 'no-text');
  await fails(E(host).readText('no-text'), 'is no blob');
  await E(host).makeDirectory('texts');
  await E(host).writeText(['texts', 'a'], 'in it');
  equal(await E(E(host).lookup('texts')).readText('a'), 'in it');
});

test('blobs: text, json, sha256', async client => {
  const { host } = await client();
  await E(host).writeText('data', '{"a":[1,null]}');
  const blob = await E(host).lookup('data');
  ok(String(blob).includes('EndoBlob'), String(blob));
  equal(await E(blob).text(), '{"a":[1,null]}');
  equal(await E(blob).json(), { a: [1, null] });
  equal(await E(blob).sha256(), createHash('sha256').update('{"a":[1,null]}').digest('hex'));
  await E(host).writeText('no-json', '{');
  await fails(E(E(host).lookup('no-json')).json(), 'not JSON');
});

test('blobs: kept from a reader of the client\'s', async client => {
  const { host } = await client();
  const bytes = Buffer.from(Array.from({ length: 123_457 }, (_, i) => (i * 7) % 256));
  const blob = await E(host).storeBlob(readerOf(bytes), 'bytes');
  equal(await E(blob).sha256(), createHash('sha256').update(bytes).digest('hex'));
  ok((await collect(E(blob).streamBase64())).equals(bytes), 'other bytes');
  ok((await E(host).lookup('bytes')) === blob, 'another blob');
  await fails(E(blob).text(), 'not text in UTF-8');
});

test('blobs: empty', async client => {
  const { host } = await client();
  const blob = await E(host).storeBlob(readerOf(Buffer.alloc(0)), 'empty');
  equal(await E(blob).text(), '');
  equal((await collect(E(blob).streamBase64())).length, 0);
});

test('blobs: several at a time, with calls between', async client => {
  const { host } = await client();
  const bytes = n => Buffer.alloc(50_000, n);
  const blobs = [1, 2, 3, 4].map(n => E(host).storeBlob(readerOf(bytes(n), 1000), `many-${n}`));
  equal(await E(host).has('nobody'), false);
  for (const [i, blob] of blobs.entries()) {
    ok((await collect(E(blob).streamBase64())).equals(bytes(i + 1)), 'other bytes');
  }
});

test('blobs: a reader that fails leaves nothing', async client => {
  const { host } = await client();
  await fails(E(host).storeBlob(readerOf(Buffer.alloc(100), 10, { fail: true }), 'half'), 'the disk is gone');
  equal(await E(host).has('half'), false);
  const liar = Far('Reader', { next: async () => harden({ value: '!!', done: false }) });
  await fails(E(host).storeBlob(liar, 'half'), 'Base64');
  await fails(E(host).storeBlob('text', 'half'), 'In "storeBlob" method of (EndoHost): arg 0');
});

test('blobs: handed to a guest', async client => {
  const { host } = await client();
  const { name, guest } = await newGuest(E, host);
  await E(host).writeText('for-guest', 'read this');
  await E(host).send(name, ['', ''], ['text'], ['for-guest']);
  await E(guest).adopt(0n, 'text', 'text');
  equal(await E(guest).readText('text'), 'read this');
  equal(await E(E(guest).lookup('text')).text(), 'read this');
});

test('blobs: a stream that is left half way', async client => {
  const { host } = await client();
  await E(host).storeBlob(readerOf(Buffer.alloc(200_000, 1)), 'long');
  const stream = await E(E(host).lookup('long')).streamBase64();
  ok((await E(stream).next()).value.length > 0, 'nothing came');
  equal(await E(stream).return('left'), { done: true, value: 'left' });
  equal(await E(stream).next(), { done: true, value: undefined });
});

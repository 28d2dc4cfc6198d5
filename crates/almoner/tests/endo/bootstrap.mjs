// The root object, agents, and what is said of methods.
import { E } from '@endo/far';
import { equal, fails, newGuest, ok, test } from './harness.mjs';

test('bootstrap: ping', async client => {
  const { bootstrap } = await client();
  equal(await E(bootstrap).ping(), 'pong');
});

test('bootstrap: the interfaces have their names', async client => {
  const { bootstrap, host } = await client();
  ok(String(await bootstrap).includes('Alleged: Endo'), String(await bootstrap));
  ok(String(await host).includes('Alleged: EndoHost'), String(await host));
  const { guest } = await newGuest(E, host);
  ok(String(guest).includes('Alleged: EndoGuest'), String(guest));
});

test('bootstrap: the host is the same object each time', async client => {
  const { bootstrap } = await client();
  ok((await E(bootstrap).host()) === (await E(bootstrap).host()), 'two hosts');
});

test('bootstrap: node id', async client => {
  const { bootstrap } = await client();
  ok(/^[0-9a-f]{64}$/.test(await E(bootstrap).nodeId()), 'no node id');
});

test('bootstrap: the least authority may do nothing', async client => {
  const { bootstrap } = await client();
  const none = E(bootstrap).leastAuthority();
  await fails(E(none).list(), 'not allowed');
});

test('bootstrap: what is not there yet says so', async client => {
  const { bootstrap, host } = await client();
  for (const method of ['greeter', 'gateway', 'sign']) {
    await fails(E(bootstrap)[method]('00'), `not supported by almoner yet: ${method}`);
  }
});

test('bootstrap: what is kept needs no revival, and there are no networks to revive', async client => {
  const { bootstrap, host } = await client();
  await E(host).storeValue('kept', ['@pins', 'pinned']).catch(() => {});
  equal(await E(bootstrap).revivePins(), undefined);
  await fails(E(bootstrap).reviveNetworks(), 'not supported by almoner yet: reviveNetworks');
});

test('methods: names and help', async client => {
  const { host } = await client();
  const names = await E(host).__getMethodNames__();
  for (const name of ['list', 'lookup', 'send', 'endow', 'provideGuest', '__getMethodNames__']) {
    ok(names.includes(name), `no ${name}`);
  }
  ok((await E(host).help()).startsWith('EndoHost:'), 'no help');
  ok((await E(host).help('list')).startsWith('list('), 'no help for list');
});

test('methods: the guard travels', async client => {
  const { host } = await client();
  const guard = await E(host).__getInterfaceGuard__();
  equal(guard[Symbol.toStringTag], 'guard:interfaceGuard');
  equal(guard.payload.interfaceName, 'EndoHost');
  ok('lookup' in guard.payload.methodGuards, 'no lookup');
});

test('methods: an unknown one is a TypeError that lists the others', async client => {
  const { host } = await client();
  await fails(E(host).fly(), 'target has no method "fly", has ["__getInterfaceGuard__"', 'TypeError');
});

test('methods: what does not fit the guard is said in upstream\'s words', async client => {
  const { host } = await client();
  await fails(E(host).has(42), 'In "has" method of (EndoHost): ...rest: [0]: number (a number) - Must be a string');
  await fails(E(host).storeValue(1), 'In "storeValue" method of (EndoHost): Expected at least 2 arguments');
  await fails(E(host).listMessages(1), 'accepts at most 0 arguments, not 1');
});

test('methods: an object is no function and has no properties', async client => {
  const { host } = await client();
  await fails(E(host)(1), 'Cannot invoke target as a function', 'TypeError');
  equal(await E.get(host).nothing, undefined);
});

test('agents: a guest is made once under its name', async client => {
  const { host } = await client();
  const { name, guest } = await newGuest(E, host);
  ok((await E(host).provideGuest(name)) === guest, 'another guest');
  equal(await E(host).has(name), true);
});

test('agents: a host below the host', async client => {
  const { host } = await client();
  const below = await E(host).provideHost('below', { agentName: 'below-agent' });
  ok(String(below).includes('EndoHost'), String(below));
  equal(await E(below).list(), ['@agent', '@endo', '@host', '@mail', '@main', '@none', '@pins', '@self'].filter(Boolean));
  const grandchild = await E(below).provideGuest('grandchild');
  equal(await E(grandchild).list(), ['@agent', '@host', '@mail', '@self']);
});

test('agents: introduced names are grants', async client => {
  const { host } = await client();
  await E(host).makeDirectory('introduced');
  await E(host).storeValue('in it', ['introduced', 'x']);
  const guest = await E(host).provideGuest('introduced-guest', { introducedNames: { introduced: 'mine' } });
  equal(await E(guest).lookup(['mine', 'x']), 'in it');
  ok((await E(guest).identify('mine')) !== (await E(host).identify('introduced')), 'the thing itself');
});

test('agents: handles are mail addresses and no more', async client => {
  const { host } = await client();
  const { name, guest } = await newGuest(E, host);
  const handle = await E(host).lookup(name);
  ok(String(handle).includes('EndoHandle'), String(handle));
  await fails(E(handle).list(), 'target has no method "list"', 'TypeError');
  ok((await E(guest).handle()) !== guest, 'the handle is the guest');
  await fails(E(host).lookup([name, 'x']), 'is not a directory');
});

test('agents: a guest reaches only what it holds', async client => {
  const { host } = await client();
  const { guest } = await newGuest(E, host);
  const id = await E(host).identify('@agent');
  await fails(E(guest).lookupById(id), 'not held');
  await fails(E(guest).storeIdentifier('stolen', id), 'not held');
  await fails(E(guest).provideGuest('x'), 'target has no method "provideGuest"', 'TypeError');
});

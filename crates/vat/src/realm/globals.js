  // The globals: those in `permitted`, and those that the realm defines. Code can neither change nor add a global.
  const endowed = {
    E, Far, makeExo, M, harden, assert, console, TextEncoder, TextDecoder, URL, URLSearchParams, Function: inertFunction, eval: noEval,
  };
  const kept = new TheMap();
  for (const name of permitted) kept.set(name, globalThis[name]);
  for (const name of ownKeys(endowed)) kept.set(name, endowed[name]);
  for (const key of ownKeys(globalThis)) if (!kept.has(key)) delete globalThis[key];
  for (const [name, value] of kept) {
    const property = getOwnPropertyDescriptor(globalThis, name);
    if (property === undefined || property.configurable) defineProperty(globalThis, name, { value, writable: false, enumerable: false, configurable: false });
  }
  for (const name of ownKeys(endowed)) harden(endowed[name]);
  harden(globalThis);

  return {
    remotableSlot, promiseSlot, remotableNumber, identity, errorParts, symbolName, presence, promiseAt, makeTagged, errorOf,
    symbolOf, evaluate, make, refused, deliver, settle, release, forget, cancel, cancelled, taggedPrototype, objectPrototype,
    taggedParts: thing => taggedParts.get(thing), arrayPrototype: Array.prototype, bigint: TheBigInt,
  };
});

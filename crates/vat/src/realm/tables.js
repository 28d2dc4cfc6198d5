  // The tables of references: presences of objects of the host, open promises, and objects that the vat gave out.
  //
  // An entry holds the slot of a presence, or of a promise from the host. The entry of a promise is `settled` once
  // the host has fulfilled or rejected the promise.
  const entries = new TheWeakMap();
  const imports = new TheMap();
  const waiting = new TheMap();
  const exportsByNumber = new TheMap();
  const exportsByThing = new TheWeakMap();
  const answers = new TheMap();
  // Maps an object that has a guard to the number that the host gave to the guard.
  const guardNumbers = new TheWeakMap();
  let lastExport = 0;

  const presences = new TheRegistry(({ slot, mark }) => {
    const now = imports.get(slot);
    // The host may have sent the same object again meanwhile; the table then holds a new presence.
    if (now !== undefined && now.mark === mark) {
      imports.delete(slot);
      host.dropped(slot);
    }
  });
  // Returns the vat's own object or answer to which the host refers.
  const ownThing = slot => {
    const number = +slot.slice(1);
    const table = slot[0] === 'v' ? exportsByNumber : answers;
    if (slot[0] === 'q' || !table.has(number)) throw new TheTypeError(`there is no ${slot} in this vat`);
    return table.get(number);
  };
  const presence = (slot, iface) => {
    if (slot[0] !== 'h') return ownThing(slot);
    const known = imports.get(slot);
    const alive = known === undefined ? undefined : known.weak.deref();
    if (alive !== undefined) return alive;
    const alleged = iface === undefined ? 'Alleged: remote' : iface;
    const made = create(remotablePrototype(alleged, objectPrototype));
    freeze(made);
    apply(hardenedAdd, hardened, [made]);
    const mark = freeze({});
    farIface.set(made, alleged);
    entries.set(made, freeze({ slot, settled: false }));
    imports.set(slot, { weak: new TheWeakRef(made), mark });
    presences.register(made, { slot, mark });
    return made;
  };

  const promiseAt = slot => {
    if (slot[0] === 'v' || slot[0] === 'a') {
      const own = ownThing(slot);
      return isPlainPromise(own) ? own : plainPromise(own);
    }
    const known = waiting.get(slot);
    if (known !== undefined) return known.promise;
    const entry = { slot, settled: false, good: false, value: undefined, promise: undefined, done: undefined };
    const promise = new ThePromise((resolve, reject) => { entry.done = [resolve, reject]; });
    freeze(promise);
    entry.promise = promise;
    // Code that uses the promise sees a rejection. If no code uses it, the rejection is not reported as unhandled.
    then(promise, ignore, ignore);
    entries.set(promise, entry);
    waiting.set(slot, entry);
    return promise;
  };
  const settle = (slot, good, value) => {
    const entry = waiting.get(slot);
    if (entry === undefined) return false;
    waiting.delete(slot);
    entry.settled = true;
    entry.good = good;
    entry.value = value;
    const [resolve, reject] = entry.done;
    entry.done = undefined;
    entry.promise = undefined;
    if (good) resolve(value);
    else reject(value);
    return true;
  };

  const exported = thing => {
    const known = exportsByThing.get(thing);
    if (known !== undefined && exportsByNumber.has(known)) return known;
    lastExport += 1;
    exportsByThing.set(thing, lastExport);
    exportsByNumber.set(lastExport, thing);
    return lastExport;
  };
  const release = number => { exportsByNumber.delete(number); };

  const remotableSlot = thing => {
    const entry = entries.get(thing);
    if (entry !== undefined) return [entry.slot, undefined];
    const iface = farIface.get(thing);
    if (iface === undefined) {
      throw new TheTypeError(typeof thing === 'function'
        ? 'a function cannot be passed unless it is declared by Far'
        : `Remotables must be explicitly declared: (${an(typeName(thing))})`);
    }
    return [`v${exported(thing)}`, iface, guardNumbers.get(thing)];
  };
  const promiseSlot = promise => {
    if (!isPlainPromise(promise)) throw new TheTypeError('a promise with properties of its own cannot be passed');
    const entry = entries.get(promise);
    if (entry !== undefined && !entry.settled) return entry.slot;
    const before = lastExport;
    const number = exported(promise);
    if (number > before) {
      freeze(promise);
      then(promise, value => host.resolve(number, true, value), reason => host.resolve(number, false, reason));
    }
    return `v${number}`;
  };

  // Gives each object a number for checks against patterns, which export no object.
  const numbers = new TheWeakMap();
  let lastNumber = 0;
  const identity = thing => {
    let number = numbers.get(thing);
    if (number === undefined) {
      lastNumber += 1;
      number = lastNumber;
      numbers.set(thing, number);
    }
    return number;
  };
  const remotableNumber = thing => {
    const iface = farIface.get(thing);
    if (iface === undefined) remotableSlot(thing);
    return [identity(thing), iface];
  };

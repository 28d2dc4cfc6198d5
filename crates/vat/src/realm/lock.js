  // Locks the realm: removes or disables everything that makes code or looks outside, and freezes the rest. This runs
  // before the other pieces of the realm, which therefore never see an intrinsic that can change.
  const permitted = [
    'Infinity', 'NaN', 'undefined', 'globalThis', 'Object', 'Array', 'Number', 'Boolean', 'String', 'Symbol', 'BigInt',
    'Math', 'JSON', 'Reflect', 'Proxy', 'Promise', 'Map', 'Set', 'WeakMap', 'WeakSet', 'RegExp', 'Iterator', 'Error',
    'TypeError', 'RangeError', 'SyntaxError', 'ReferenceError', 'EvalError', 'URIError', 'AggregateError', 'ArrayBuffer',
    'DataView', 'Int8Array', 'Uint8Array', 'Uint8ClampedArray', 'Int16Array', 'Uint16Array', 'Int32Array', 'Uint32Array',
    'BigInt64Array', 'BigUint64Array', 'Float32Array', 'Float64Array', 'parseInt', 'parseFloat', 'isNaN', 'isFinite',
    'decodeURI', 'decodeURIComponent', 'encodeURI', 'encodeURIComponent', 'escape', 'unescape',
  ];
  const hidden = [
    getPrototypeOf(async () => undefined), getPrototypeOf(function* () { yield 0; }), getPrototypeOf(async function* () { yield 0; }),
    getPrototypeOf([].values()), getPrototypeOf(new TheMap().values()), getPrototypeOf(new TheSet().values()),
    getPrototypeOf(''[TheSymbol.iterator]()), getPrototypeOf(''.matchAll(/x/g)), getPrototypeOf([].values().map(ignore)),
    getPrototypeOf(Iterator.from({ next: ignore })), getOwnPropertyDescriptor((function () { return arguments; })(), 'callee').get,
    getOwnPropertyDescriptor((function () { return arguments; })(), 'callee').set,
  ];
  // The kind of an error by its intrinsic prototype. The realm never reads the `name` property of that prototype.
  const errorKinds = new TheMap();
  for (const Kind of [TheError, TheTypeError, RangeError, SyntaxError, ReferenceError, EvalError, URIError, AggregateError]) {
    errorKinds.set(Kind.prototype, Kind.name);
  }
  const inert = (prototype, name) => {
    const made = { [name]: function () { throw new TheTypeError(`${name} is not available: there is no dynamic code in a vat`); } }[name];
    defineProperty(made, 'prototype', { value: prototype, writable: false });
    defineProperty(prototype, 'constructor', { value: made });
    return made;
  };
  const inertFunction = inert(functionPrototype, 'Function');
  inert(hidden[0], 'AsyncFunction');
  inert(hidden[1], 'GeneratorFunction');
  inert(hidden[2], 'AsyncGeneratorFunction');

  const gone = [
    [TheError, ['captureStackTrace', 'stackTraceLimit', 'prepareStackTrace']], [TheError.prototype, ['stack']],
    [RegExp.prototype, ['compile']], [functionPrototype, ['caller', 'arguments', 'fileName', 'lineNumber', 'columnNumber']],
    [objectPrototype, ['toLocaleString']], [Array.prototype, ['toLocaleString']], [Number.prototype, ['toLocaleString']],
    [BigInt.prototype, ['toLocaleString']], [getPrototypeOf(Uint8Array.prototype), ['toLocaleString']],
    [String.prototype, ['localeCompare', 'toLocaleLowerCase', 'toLocaleUpperCase']], [globalThis, [toStringTag]],
  ];
  for (const [thing, keys] of gone) for (const key of keys) delete thing[key];
  // Removes RegExp.$1 and the like, which would show code the last match of other code.
  for (const key of ownKeys(RegExp)) {
    if (typeof key === 'string' && /^(?:\$|input$|last|left|right)/.test(key)) delete RegExp[key];
  }
  defineProperty(Math, 'random', {
    value: { random: () => { throw new TheTypeError('Math.random is not available: a vat is deterministic'); } }.random,
  });

  // Otherwise, code could not assign a property to an object if a frozen prototype has one of the same name.
  const overridable = (prototype, keys) => {
    for (const key of keys) {
      const property = getOwnPropertyDescriptor(prototype, key);
      if (property === undefined || !('value' in property) || !property.configurable) continue;
      const { value, enumerable } = property;
      const { get, set } = {
        get: () => value,
        set(next) {
          if (this === prototype || !isObject(this)) throw new TheTypeError(`Cannot assign to read only property ${shownName(key)}`);
          if (getOwnPropertyDescriptor(this, key) !== undefined) this[key] = next;
          else defineProperty(this, key, { value: next, writable: true, enumerable: true, configurable: true });
        },
      };
      defineProperty(prototype, key, { get, set, enumerable, configurable: false });
    }
  };
  for (const prototype of [objectPrototype, functionPrototype, ...errorKinds.keys()]) overridable(prototype, ownKeys(prototype));
  overridable(Array.prototype, ['constructor', 'toString', 'concat', 'push', 'join']);
  overridable(promisePrototype, ['constructor']);
  overridable(getPrototypeOf(hidden[3]), ['constructor', toStringTag, 'next', 'return', 'throw']);
  for (const Kind of [TheMap, TheSet, TheWeakMap, RegExp, String, Number, ArrayBuffer, DataView]) overridable(Kind.prototype, ['constructor', 'toString', toStringTag]);

  for (const name of permitted) if (name !== 'globalThis') harden(globalThis[name]);
  for (const thing of hidden) harden(thing);

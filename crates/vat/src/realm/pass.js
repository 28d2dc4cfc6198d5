  // Makes and recognizes values that a vat and the host can pass: Far objects, tagged values, errors, symbols.
  const passStyle = symbolFor('passStyle');
  // Maps Far objects, Far functions and presences to the interface names that they claim.
  const farIface = new TheWeakMap();
  const taggedParts = new TheWeakMap();

  const remotablePrototype = (iface, parent) => {
    const made = create(parent);
    defineProperty(made, passStyle, { value: 'remotable' });
    defineProperty(made, toStringTag, { value: iface });
    return freeze(made);
  };
  const declare = (iface, thing) => {
    if (!isObject(thing) || isProxy(thing) || isPromise(thing) || isArray(thing)) {
      throw new TheTypeError(`Far needs an object with methods or a function: (${an(typeName(thing))})`);
    }
    if (farIface.has(thing)) throw new TheTypeError('Far: the object is declared already');
    const isFunction = typeof thing === 'function';
    const parent = getPrototypeOf(thing);
    if (parent !== null && parent !== (isFunction ? functionPrototype : objectPrototype)) {
      throw new TheTypeError('Far: For now, remotables cannot inherit from anything unusual');
    }
    if (!isExtensible(thing)) throw new TheTypeError('Far: the object is frozen already');
    for (const key of ownKeys(thing)) {
      const property = getOwnPropertyDescriptor(thing, key);
      if (isFunction && (key === 'name' || key === 'length' || key === 'prototype')) continue;
      if (!('value' in property) || typeof property.value !== 'function') {
        throw new TheTypeError(`Far: cannot serialize Remotables with non-methods like ${quote(`${TheSymbol.prototype.toString.call(typeof key === 'symbol' ? key : TheSymbol(key)).slice(7, -1)}`)}`);
      }
      if (farIface.has(property.value)) throw new TheTypeError('Far: a method cannot itself be Far');
    }
    setPrototypeOf(thing, remotablePrototype(iface, isFunction ? functionPrototype : objectPrototype));
    harden(thing);
    farIface.set(thing, iface);
    return thing;
  };
  const Far = (label, thing = {}) => {
    if (typeof label !== 'string') throw new TheTypeError('Far needs a name: a string');
    return declare(`Alleged: ${label}`, thing);
  };

  const taggedPrototype = freeze(create(objectPrototype, { [passStyle]: { value: 'tagged' } }));
  const makeTagged = (tag, payload) => {
    const made = create(taggedPrototype, {
      [toStringTag]: { value: tag },
      payload: { value: payload, enumerable: true },
    });
    taggedParts.set(made, freeze([tag, payload]));
    return harden(made);
  };

  const kindsByName = new TheMap();
  for (const Kind of [TheError, TheTypeError, RangeError, SyntaxError, ReferenceError, EvalError, URIError]) {
    kindsByName.set(Kind.name, Kind);
  }
  const ownText = (thing, key) => {
    const property = getOwnPropertyDescriptor(thing, key);
    return property !== undefined && typeof property.value === 'string' ? property.value : undefined;
  };
  const errorParts = error => {
    let name;
    for (let at = error; name === undefined && isObject(at) && !isProxy(at); at = getPrototypeOf(at)) {
      name = errorKinds.has(at) ? errorKinds.get(at) : ownText(at, 'name');
    }
    const message = ownText(error, 'message');
    return [name === undefined ? 'Error' : name, message === undefined ? '' : message];
  };
  const errorOf = (name, message) => {
    const known = kindsByName.has(name);
    const made = new (known ? kindsByName.get(name) : TheError)(message);
    if (!known) defineProperty(made, 'name', { value: name });
    return freeze(made);
  };

  const wellKnown = [
    'asyncIterator', 'hasInstance', 'isConcatSpreadable', 'iterator', 'match', 'matchAll', 'replace', 'search',
    'species', 'split', 'toPrimitive', 'toStringTag', 'unscopables',
  ];
  const knownSymbols = new TheMap();
  const namesOfKnown = new TheMap();
  for (const name of wellKnown) {
    knownSymbols.set(`@@${name}`, TheSymbol[name]);
    namesOfKnown.set(TheSymbol[name], `@@${name}`);
  }
  const symbolName = symbol => {
    if (namesOfKnown.has(symbol)) return namesOfKnown.get(symbol);
    const key = symbolKeyFor(symbol);
    if (key === undefined) return undefined;
    return key.startsWith('@@') ? `@@${key}` : key;
  };
  const symbolOf = name => {
    if (knownSymbols.has(name)) return knownSymbols.get(name);
    return symbolFor(name.startsWith('@@@@') ? name.slice(2) : name);
  };

  // `assert`, with the functions that Endo has. Messages show only the type of a value, unless the code quotes it.
  const quoted = new TheWeakMap();
  const an = word => (/^[aeiou]/i.test(word) ? `an ${word}` : `a ${word}`);
  const typeName = value => (value === null ? 'object' : typeof value);
  const show = (value, depth) => {
    switch (typeof value) {
      case 'string': return JSON.stringify(value);
      case 'bigint': return `"[${value}n]"`;
      case 'undefined': return '"[undefined]"';
      case 'symbol': return JSON.stringify(`[${TheSymbol.prototype.toString.call(value)}]`);
      case 'number': return value !== value || value === Infinity || value === -Infinity ? `"[${value}]"` : `${value}`;
      case 'boolean': return `${value}`;
      case 'function': return '"[Function]"';
      default: break;
    }
    if (value === null) return 'null';
    if (isProxy(value)) return '"[Proxy]"';
    if (farIface.has(value)) return JSON.stringify(`[${farIface.get(value)}]`);
    if (isPromise(value)) return '"[Promise]"';
    if (host.isError(value)) {
      const [name, message] = errorParts(value);
      return JSON.stringify(`[${name}: ${message}]`);
    }
    if (depth > 3) return isArray(value) ? '"[Array]"' : '"[Object]"';
    const parts = [];
    for (const key of ownKeys(value)) {
      if (typeof key === 'symbol' || (isArray(value) && key === 'length')) continue;
      if (parts.length >= 100) { parts.push('"…"'); break; }
      const property = getOwnPropertyDescriptor(value, key);
      const shown = 'value' in property ? show(property.value, depth + 1) : '"[accessor]"';
      parts.push(isArray(value) ? shown : `${JSON.stringify(key)}:${shown}`);
    }
    return isArray(value) ? `[${parts.join(',')}]` : `{${parts.join(',')}}`;
  };
  const quote = value => {
    const made = freeze({ __proto__: null, toString: freeze(() => show(value, 0)) });
    quoted.set(made, show(value, 0));
    return made;
  };
  const bare = text => {
    if (typeof text !== 'string' || !/^[\w:-]( ?[\w:-])*$/.test(text)) return quote(text);
    const made = freeze({ __proto__: null, toString: freeze(() => text) });
    quoted.set(made, text);
    return made;
  };
  const detailsText = new TheWeakMap();
  const textOf = (template, values) => {
    // A guest passes the template, so it may be any value.
    const parts = isObject(template) && !isProxy(template) && isArray(template) ? template : [''];
    let text = `${parts[0]}`;
    for (let at = 0; at < values.length; at += 1) {
      const value = values[at];
      const known = isObject(value) ? quoted.get(value) : undefined;
      text += known === undefined ? `(${an(typeName(value))})` : known;
      text += `${parts[at + 1] === undefined ? '' : parts[at + 1]}`;
    }
    return text;
  };
  const details = (template, ...values) => {
    const made = freeze({ __proto__: null, toString: freeze(() => '[DetailsToken]') });
    detailsText.set(made, textOf(template, values));
    return made;
  };
  const messageOf = (given, otherwise) => {
    if (given === undefined) return otherwise;
    if (typeof given === 'string') return given;
    const known = isObject(given) ? detailsText.get(given) : undefined;
    return known === undefined ? otherwise : known;
  };
  const makeError = (given, Kind = TheError, options = undefined) =>
    options === undefined ? new Kind(messageOf(given, 'Assert failed')) : new Kind(messageOf(given, 'Assert failed'), options);
  const fail = (given, Kind) => { throw makeError(given, Kind); };
  const Fail = (template, ...values) => { throw new TheError(textOf(template, values)); };
  const assertThat = (flag, given, Kind) => {
    if (!flag) throw new (Kind === undefined ? TheError : Kind)(messageOf(given, 'Check failed'));
  };
  const assertTypeof = (value, type, given) => {
    const is = type === 'null' ? value === null : typeof value === type && (type !== 'object' || value !== null);
    if (!is) throw new TheTypeError(messageOf(given, textOf(['', ' must be ', ''], [value, quote(an(`${type}`))])));
  };
  const assertEqual = (actual, expected, given, Kind = RangeError) => {
    if (!Object.is(actual, expected)) {
      throw new Kind(messageOf(given, textOf(['Expected ', ' is same as ', ''], [actual, expected])));
    }
  };
  const assert = (flag, given, Kind) => assertThat(flag, given, Kind);
  const assertParts = {
    details, quote, bare, Fail, fail, makeError, equal: assertEqual, typeof: assertTypeof,
    string: (value, given) => assertTypeof(value, 'string', given), note: () => undefined,
    error: (given, Kind, options) => makeError(given, Kind, options),
  };
  for (const name of ownKeys(assertParts)) defineProperty(assert, name, { value: assertParts[name], enumerable: true });

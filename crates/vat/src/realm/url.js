  // URL and URLSearchParams. The host parses the text, outside of the JavaScript engine.
  const PARTS = ['protocol', 'username', 'password', 'host', 'hostname', 'port', 'pathname', 'search', 'hash'];
  const parseUrl = (href, base) => host.parseUrl(`${href}`, base === undefined ? undefined : `${base}`);
  class URLSearchParams {
    #pairs;
    #changed;
    constructor(init = '') {
      this.#changed = undefined;
      if (!isObject(init)) {
        const text = `${init}`;
        this.#pairs = host.parseQuery(text.startsWith('?') ? text.slice(1) : text);
      } else if (isArray(init) || init instanceof URLSearchParams) {
        this.#pairs = [...init].map(([name, value]) => [`${name}`, `${value}`]);
      } else {
        this.#pairs = ownKeys(init).filter(key => typeof key === 'string').map(key => [key, `${init[key]}`]);
      }
    }
    // Only the class `URL` below calls this. The realm deletes it from the class, so that guests cannot reach it.
    static attach(params, changed) {
      params.#changed = changed;
      return params;
    }
    #update() { if (this.#changed !== undefined) this.#changed(this.toString()); }
    get size() { return this.#pairs.length; }
    append(name, value) { this.#pairs.push([`${name}`, `${value}`]); this.#update(); }
    delete(name) { this.#pairs = this.#pairs.filter(([own]) => own !== `${name}`); this.#update(); }
    get(name) { const found = this.#pairs.find(([own]) => own === `${name}`); return found === undefined ? null : found[1]; }
    getAll(name) { return this.#pairs.filter(([own]) => own === `${name}`).map(([, value]) => value); }
    has(name) { return this.#pairs.some(([own]) => own === `${name}`); }
    set(name, value) {
      const at = this.#pairs.findIndex(([own]) => own === `${name}`);
      if (at < 0) this.#pairs.push([`${name}`, `${value}`]);
      else this.#pairs = this.#pairs.filter(([own], index) => own !== `${name}` || index === at).map((pair, index) => (index === at ? [pair[0], `${value}`] : pair));
      this.#update();
    }
    sort() { this.#pairs.sort(([left], [right]) => (left < right ? -1 : left > right ? 1 : 0)); this.#update(); }
    forEach(callback, thisArg) { for (const [name, value] of this.#pairs) apply(callback, thisArg, [value, name, this]); }
    *entries() { for (const [name, value] of this.#pairs) yield [name, value]; }
    *keys() { for (const [name] of this.#pairs) yield name; }
    *values() { for (const [, value] of this.#pairs) yield value; }
    [TheSymbol.iterator]() { return this.entries(); }
    toString() { return host.queryText(this.#pairs); }
  }
  const attachParams = URLSearchParams.attach;
  delete URLSearchParams.attach;
  class URL {
    #parts;
    #params;
    constructor(href, base = undefined) {
      const parts = parseUrl(href, base);
      if (parts === undefined) throw new TheTypeError(`Invalid URL: ${JSON.stringify(`${href}`.slice(0, 200))}`);
      this.#parts = parts;
    }
    static canParse(href, base = undefined) { return parseUrl(href, base) !== undefined; }
    static parse(href, base = undefined) { return URL.canParse(href, base) ? new URL(href, base) : null; }
    get href() { return this.#parts[0]; }
    set href(next) {
      const parts = parseUrl(next, undefined);
      if (parts === undefined) throw new TheTypeError('Invalid URL');
      this.#parts = parts;
      this.#params = undefined;
    }
    get origin() { return this.#parts[1]; }
    get searchParams() {
      if (this.#params === undefined) {
        this.#params = attachParams(new URLSearchParams(this.#parts[9]), text => { this.#set(7, text); });
      }
      return this.#params;
    }
    toString() { return this.#parts[0]; }
    toJSON() { return this.#parts[0]; }
    #set(part, value) { this.#parts = host.setUrl(this.#parts[0], PARTS[part], `${value}`); }
    static part(url, at) { return url.#parts[at + 2]; }
    static setPart(url, at, value) { url.#set(at, value); if (at === 7) url.#params = undefined; }
  }
  const { part: urlPart, setPart: setUrlPart } = URL;
  delete URL.part;
  delete URL.setPart;
  PARTS.forEach((name, at) => defineProperty(URL.prototype, name, {
    get() { return urlPart(this, at); },
    set(value) { setUrlPart(this, at, value); },
    enumerable: true,
    configurable: true,
  }));

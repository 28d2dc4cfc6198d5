  // TextEncoder and TextDecoder, only for UTF-8 and without streams: the whole input must be there at once.
  const TheUint8Array = Uint8Array;
  const typedArrayPrototype = getPrototypeOf(TheUint8Array.prototype);
  const getter = (prototype, name) => getOwnPropertyDescriptor(prototype, name).get;
  const viewParts = ['buffer', 'byteOffset', 'byteLength'];
  const ofTypedArray = viewParts.map(name => getter(typedArrayPrototype, name));
  const ofDataView = viewParts.map(name => getter(DataView.prototype, name));
  const { isView } = ArrayBuffer;
  const setBytes = typedArrayPrototype.set;

  class TextEncoder {
    get encoding() { return 'utf-8'; }
    encode(text = '') { return new TheUint8Array(host.toUtf8(`${text}`)); }
    encodeInto(text, target) {
      if (!isTypedArray(target)) throw new TheTypeError('encodeInto needs a Uint8Array');
      const room = apply(ofTypedArray[2], target, []);
      let read = 0, written = 0;
      for (const character of `${text}`) {
        const bytes = new TheUint8Array(host.toUtf8(character));
        if (written + bytes.length > room) break;
        apply(setBytes, target, [bytes, written]);
        written += bytes.length;
        read += character.length;
      }
      return { read, written };
    }
  }
  class TextDecoder {
    #fatal;
    #ignoreBom;
    constructor(label = 'utf-8', { fatal = false, ignoreBOM = false } = {}) {
      if (!/^\s*(?:utf-?8|unicode-1-1-utf-8)\s*$/i.test(`${label}`)) throw new RangeError('only UTF-8 can be decoded here');
      this.#fatal = !!fatal;
      this.#ignoreBom = !!ignoreBOM;
    }
    get encoding() { return 'utf-8'; }
    get fatal() { return this.#fatal; }
    get ignoreBOM() { return this.#ignoreBom; }
    decode(input = undefined, { stream = false } = {}) {
      if (stream) throw new TheTypeError('bytes are decoded in one piece here');
      if (input === undefined) return '';
      let parts = [input, 0, -1];
      if (isView(input)) parts = (isTypedArray(input) ? ofTypedArray : ofDataView).map(part => apply(part, input, []));
      const text = host.fromUtf8(parts[0], parts[1], parts[2], this.#fatal);
      if (text === undefined) throw new TheTypeError('the bytes are not UTF-8');
      return !this.#ignoreBom && text.startsWith('\uFEFF') ? text.slice(1) : text;
    }
  }

// Where the functions of an executable lie in its file, and copies of it that are changed there.
//
// Tests and experiments use the real Node; what they need of it (an address for the kernel to
// probe, a build whose symbols say something else) is in the file, and no tool that changes single
// symbols is everywhere. ELF of 64 bits, little-endian.
import { closeSync, openSync, readSync, writeSync } from 'node:fs';

const SECTION_TYPES = { '.symtab': 2, '.dynsym': 11 };
const SYMBOL_BYTES = 24;
const LOADED = 1;

/** An executable. The kernel runs none that is open to be changed: `close` it before. */
export class Executable {
  constructor(path, { isWritable = false } = {}) {
    this.file = openSync(path, isWritable ? 'r+' : 'r');
    const header = this.read(0, 64);
    this.sections = this.#table(header, { at: 0x28, size: 0x3a, count: 0x3c });
    this.segments = this.#table(header, { at: 0x20, size: 0x36, count: 0x38 });
    this.tables = new Map();
  }

  close() {
    closeSync(this.file);
  }

  read(at, length) {
    const bytes = Buffer.alloc(length);
    readSync(this.file, bytes, 0, length, at);
    return bytes;
  }

  #table(header, { at, size, count }) {
    const [bytes, entries] = [header.readUInt16LE(size), header.readUInt16LE(count)];
    const table = this.read(Number(header.readBigUInt64LE(at)), bytes * entries);
    return Array.from({ length: entries }, (_, entry) =>
      table.subarray(entry * bytes, (entry + 1) * bytes),
    );
  }

  /** A table of symbols with its names, and where both are in the file. */
  #symbols(section) {
    const known = this.tables.get(section);
    if (known) return known;
    const placeOf = (head) => [0x18, 0x20].map((at) => Number(head.readBigUInt64LE(at)));
    const head = this.sections.find((one) => one.readUInt32LE(4) === SECTION_TYPES[section]);
    if (!head) throw new Error(`no ${section}`);
    const [at, length] = placeOf(head);
    const [namesAt, namesLength] = placeOf(this.sections[head.readUInt32LE(0x28)]);
    const table = {
      at,
      symbols: this.read(at, length),
      namesAt,
      names: this.read(namesAt, namesLength),
    };
    this.tables.set(section, table);
    return table;
  }

  /** Where the name and the symbol are in the file, and the symbol's address and size. */
  find(name, section = '.symtab') {
    const { at, symbols, namesAt, names } = this.#symbols(section);
    // A name may be the end of a longer one, and what ends like it the name of no symbol.
    const places = new Set();
    const text = Buffer.from(`${name}\0`);
    for (let at = names.indexOf(text); at >= 0; at = names.indexOf(text, at + 1)) places.add(at);
    for (let entry = 0; places.size > 0 && entry < symbols.length; entry += SYMBOL_BYTES) {
      const named = symbols.readUInt32LE(entry);
      if (!places.has(named)) continue;
      const [address, size] = [8, 16].map((field) =>
        Number(symbols.readBigUInt64LE(entry + field)),
      );
      return { nameAt: namesAt + named, symbolAt: at + entry, address, size };
    }
    throw new Error(`no symbol ${name} in ${section}`);
  }

  /** The address of the first symbol whose name fits and has `part` in it. */
  addressLike(pattern, part, section = '.symtab') {
    const { symbols, names } = this.#symbols(section);
    for (let entry = 0; entry < symbols.length; entry += SYMBOL_BYTES) {
      const from = symbols.readUInt32LE(entry);
      const name = names.toString('latin1', from, names.indexOf(0, from));
      if (!pattern.test(name) || !name.includes(part)) continue;
      return Number(symbols.readBigUInt64LE(entry + 8));
    }
    throw new Error(`no symbol ${pattern} with ${part} in ${section}`);
  }

  /** Where the byte of an address is in the file. */
  offsetOf(address) {
    for (const segment of this.segments) {
      const [offset, from, , length] = [8, 16, 24, 32].map((field) =>
        Number(segment.readBigUInt64LE(field)),
      );
      const isIn = address >= from && address < from + length;
      if (segment.readUInt32LE(0) === LOADED && isIn) return address - from + offset;
    }
    throw new Error(`no byte of the file is at ${address.toString(16)}`);
  }

  /** Changes bytes of the file; gives where, and what was there. */
  write(at, bytes) {
    const before = this.read(at, bytes.length);
    writeSync(this.file, bytes, 0, bytes.length, at);
    return { at, before };
  }

  /** Nobody finds the symbol by its name any more. */
  hide(name, section) {
    return this.write(this.find(name, section).nameAt, Buffer.from('!'));
  }

  /** The symbol table says that a function is somewhere else. */
  place(name, address) {
    const bytes = Buffer.alloc(8);
    bytes.writeBigUInt64LE(BigInt(address));
    return this.write(this.find(name).symbolAt + 8, bytes);
  }

  /** Other code where a function begins. */
  replaceCode(name, code) {
    return this.write(this.offsetOf(this.find(name).address), Buffer.from(code));
  }
}

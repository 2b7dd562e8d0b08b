// The expression filter: `tcs < 0.5 and model == "x"`. A parser of its own; nothing is run as code.

const NUMBER = /(-?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)/;
const QUOTED = /("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')/;
const SIGN = /(<=|>=|==|!=|[<>(),])/;
const WORD = /([\p{L}_][\p{L}\p{N}_-]*(?:\.(?:"(?:[^"\\]|\\.)*"|[\p{L}\p{N}_-]+))*)/u;
const TOKEN = new RegExp(`\\s*(?:${[NUMBER, QUOTED, SIGN, WORD].map(({ source }) => source).join("|")})`, "uy");
const KEYWORDS = ["and", "or", "not", "in", "contains", "missing", "has"];
const DEEPEST = 60;
/** @type {Record<string, string>} */
const HINTS = { "=": "write ==", "&": "write and", "|": "write or", "!": "write not" };

/** @typedef {{ kind: "number" | "text" | "sign" | "word" | "end", text: string, at: number }} Token */
/** @typedef {(row: number) => boolean} Test */
/**
 * @typedef {{ type: "number", of: (row: number) => number, value?: undefined, column: Column | null }} NumberOperand
 */
/** @typedef {{ type: "text", value: string | null, column: TextColumn | null }} TextOperand */

class Wrong extends Error {
  /** @param {string} message @param {number} at Position of the character, from 0. */
  constructor(message, at) {
    super(message);
    this.at = at;
  }
}

/** @param {string} quoted @returns {string} The text in quotes. */
export const unquote = (quoted) => quoted.slice(1, -1).replace(/\\(.)/gsu, "$1");

/** @param {string} text @returns {Token[]} */
function tokens(text) {
  /** @type {Token[]} */
  const list = [];
  TOKEN.lastIndex = 0;
  for (;;) {
    const at = TOKEN.lastIndex + (/^\s*/.exec(text.slice(TOKEN.lastIndex))?.[0].length ?? 0);
    if (at >= text.length) return [...list, { kind: "end", text: "", at: text.length }];
    const match = TOKEN.exec(text);
    if (!match) {
      const sign = text[at];
      if (sign === '"' || sign === "'") throw new Wrong("this quote is not closed", at);
      throw new Wrong(`${sign} cannot stand here${HINTS[sign] ? `: ${HINTS[sign]}` : ""}`, at);
    }
    const [, number, quoted, sign, word] = match;
    const kind = number !== undefined ? "number" : quoted !== undefined ? "text" : sign !== undefined ? "sign" : "word";
    list.push({ kind, text: number ?? quoted ?? sign ?? word, at });
  }
}

/**
 * Return the test that a clip has a text of the column for which `holds` is true; each distinct text is tested once.
 * @param {TextColumn} column
 * @param {(text: string) => boolean} holds
 * @returns {Test}
 */
function matching(column, holds) {
  const hit = column.values.map(holds);
  const { codes, lists } = column;
  return codes ? (row) => codes[row] >= 0 && hit[codes[row]] : (row) => lists[row].some((code) => hit[code]);
}

/** @type {Record<string, (a: number, b: number) => boolean>} */
const NUMBERS = {
  "<": (a, b) => a < b,
  "<=": (a, b) => a <= b,
  ">": (a, b) => a > b,
  ">=": (a, b) => a >= b,
  "==": (a, b) => a === b,
  "!=": (a, b) => a < b || a > b, // false where one is missing
};
/** @type {Record<string, (a: string, b: string) => boolean>} */
const TEXTS = {
  "==": (a, b) => a === b,
  "!=": (a, b) => a !== b,
  contains: (a, b) => a.toLowerCase().includes(b.toLowerCase()),
};

/** @param {TextOperand} operand @param {number} row @returns {string[]} */
function texts({ value, column }, row) {
  if (!column) return [value ?? ""];
  const codes = column.codes ? (column.codes[row] < 0 ? [] : [column.codes[row]]) : column.lists[row];
  return codes.map((code) => column.values[code]);
}

class Parser {
  /** @param {string} text @param {(field: string) => Column | null} lookup */
  constructor(text, lookup) {
    this.tokens = tokens(text);
    this.next = 0;
    this.depth = 0;
    this.lookup = lookup;
  }

  get token() {
    return this.tokens[this.next];
  }

  /** @param {string} text @returns {boolean} True, and one on, if the next token is this sign or word. */
  take(text) {
    const { kind, text: present } = this.token;
    if ((kind !== "sign" && kind !== "word") || present.toLowerCase() !== text) return false;
    this.next += 1;
    return true;
  }

  /** @param {string} expected @returns {never} */
  fail(expected) {
    const { kind, text, at } = this.token;
    throw new Wrong(kind === "end" ? `${expected} is missing at the end` : `expected ${expected}, not ${text}`, at);
  }

  /** @returns {Test} */
  whole() {
    const test = this.either();
    if (this.token.kind !== "end") this.fail("and, or, or the end");
    return test;
  }

  /** @returns {Test} */
  either() {
    const parts = [this.both()];
    while (this.take("or")) parts.push(this.both());
    return parts.length === 1 ? parts[0] : (row) => parts.some((part) => part(row));
  }

  /** @returns {Test} */
  both() {
    const parts = [this.single()];
    while (this.take("and")) parts.push(this.single());
    return parts.length === 1 ? parts[0] : (row) => parts.every((part) => part(row));
  }

  /** @returns {Test} */
  single() {
    if (this.depth >= DEEPEST) throw new Wrong("too many parentheses", this.token.at);
    this.depth += 1;
    try {
      if (this.take("not")) {
        const part = this.single();
        return (row) => !part(row);
      }
      if (this.take("(")) {
        const part = this.either();
        if (!this.take(")")) this.fail(")");
        return part;
      }
      if (this.take("missing")) return this.presence(false);
      if (this.take("has")) return this.presence(true);
      return this.comparison();
    } finally {
      this.depth -= 1;
    }
  }

  /** @param {boolean} present @returns {Test} */
  presence(present) {
    const operand = this.operand();
    const { column } = operand;
    if (!column) throw new Wrong("expected a field, not a value", this.tokens[this.next - 1].at);
    if (column.kind === "number") return (row) => Number.isNaN(column.at[row]) !== present;
    const any = matching(column, () => true);
    return (row) => any(row) === present;
  }

  /** @returns {NumberOperand | TextOperand} */
  operand() {
    const { kind, text, at } = this.token;
    if (kind === "end" || kind === "sign" || (kind === "word" && KEYWORDS.includes(text.toLowerCase())))
      this.fail("a field or a value");
    this.next += 1;
    if (kind === "number") {
      const number = Number(text);
      return { type: "number", of: () => number, column: null };
    }
    if (kind === "text") return { type: "text", value: unquote(text), column: null };
    const column = this.lookup(text);
    if (!column) throw new Wrong(`there is no field ${text} (texts stand in quotes)`, at);
    if (column.kind === "text") return { type: "text", value: null, column };
    return { type: "number", of: (row) => column.at[row], column };
  }

  /** @returns {Test} */
  comparison() {
    const left = this.operand();
    const { kind, text, at } = this.token;
    if (this.take("in")) return this.membership(left);
    const sign = kind === "sign" || kind === "word" ? text.toLowerCase() : "";
    if (!Object.hasOwn(NUMBERS, sign) && sign !== "contains")
      this.fail("a comparison (<, <=, >, >=, ==, !=, contains, in)");
    this.next += 1;
    const valueAt = this.token.at;
    const right = this.operand();
    if (left.type !== right.type) throw new Wrong(`a ${left.type} is compared with a ${right.type}`, valueAt);
    if (left.type === "number" && right.type === "number") {
      if (sign === "contains") throw new Wrong("contains is for texts", at);
      const compare = NUMBERS[sign],
        a = left.of,
        b = right.of;
      return (row) => compare(a(row), b(row));
    }
    if (!Object.hasOwn(TEXTS, sign)) throw new Wrong(`${sign} is for numbers; texts have ==, !=, contains and in`, at);
    const compare = TEXTS[sign],
      a = /** @type {TextOperand} */ (left),
      b = /** @type {TextOperand} */ (right);
    if (a.column && !b.column) return matching(a.column, (value) => compare(value, b.value ?? ""));
    return (row) => texts(a, row).some((x) => texts(b, row).some((y) => compare(x, y)));
  }

  /** @param {NumberOperand | TextOperand} left @returns {Test} */
  membership(left) {
    if (!this.take("(")) this.fail("(");
    /** @type {Set<string | number>} */
    const values = new Set();
    do {
      const { at } = this.token;
      const value = this.operand();
      if (value.column) throw new Wrong("a list holds numbers and texts in quotes, not fields", at);
      if (value.type !== left.type) throw new Wrong(`a ${left.type} is compared with a ${value.type}`, at);
      values.add(value.type === "number" ? value.of(0) : (value.value ?? ""));
    } while (this.take(","));
    if (!this.take(")")) this.fail(", or )");
    if (left.type === "number") return (row) => values.has(left.of(row));
    if (left.column) return matching(left.column, (value) => values.has(value));
    return () => values.has(left.value ?? "");
  }
}

/**
 * Read an expression.
 * @param {string} text
 * @param {(field: string) => Column | null} lookup
 * @returns {{ test: Test, error: null } | { test: null, error: { message: string, at: number } }}
 */
export const readExpression = (text, lookup) => {
  try {
    return { test: new Parser(text, lookup).whole(), error: null };
  } catch (error) {
    if (!(error instanceof Wrong)) throw error;
    return { test: null, error: { message: error.message, at: error.at } };
  }
};

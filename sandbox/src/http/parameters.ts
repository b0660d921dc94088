import { invalidRequest } from '../refusal.ts';

const maxMetadataKeys = 50;
const maxKeyLength = 40;
const maxValueLength = 500;
const maxTextLength = 5000;

/**
 * The form parameters of one call, read by name. Whatever has not been read when `finish()` is called is refused as
 * unknown, the way Stripe refuses it.
 */
export class Parameters {
  readonly #values: Record<string, unknown>;
  readonly #prefix: string;
  readonly #read = new Set<string>();

  constructor(values: Record<string, unknown>, prefix = '') {
    this.#values = values;
    this.#prefix = prefix;
  }

  has(name: string): boolean {
    this.#read.add(name);
    return this.#values[name] !== undefined;
  }

  /** A text, or undefined when it is absent. An empty text is refused. */
  text(name: string, maxLength = maxTextLength): string | undefined {
    const value = this.#take(name);
    if (value === undefined) return undefined;
    if (typeof value !== 'string')
      throw invalidRequest(`Invalid string: ${this.#path(name)}`, { param: this.#path(name) });
    if (value === '') throw this.#empty(name);
    if (value.length > maxLength) {
      throw invalidRequest(`Invalid string: must be at most ${maxLength} characters`, { param: this.#path(name) });
    }
    return value;
  }

  /** A text that an empty value unsets: undefined when it is absent, null when it is to be unset. */
  clearableText(name: string, maxLength = maxTextLength): string | null | undefined {
    return this.#take(name) === '' ? null : this.text(name, maxLength);
  }

  requiredText(name: string): string {
    return this.text(name) ?? this.#missing(name);
  }

  integer(name: string, { min = 0, max = Number.MAX_SAFE_INTEGER } = {}): number | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    const path = this.#path(name);
    if (!/^-?\d{1,16}$/.test(text)) {
      throw invalidRequest(`Invalid integer: ${text.slice(0, 40)}`, { param: path, code: 'parameter_invalid_integer' });
    }
    const value = Number(text);
    if (value < min) {
      throw invalidRequest(`This value must be greater than or equal to ${min}.`, {
        param: path,
        code: 'parameter_invalid_integer',
      });
    }
    if (value > max) {
      throw invalidRequest(`Amount must be no more than ${max}.`, { param: path, code: 'amount_too_large' });
    }
    return value;
  }

  requiredInteger(name: string, bounds?: { min?: number; max?: number }): number {
    return this.integer(name, bounds) ?? this.#missing(name);
  }

  boolean(name: string): boolean | undefined {
    const text = this.text(name);
    if (text === undefined || text === 'true' || text === 'false')
      return text === undefined ? undefined : text === 'true';
    throw invalidRequest(`Invalid boolean: ${text.slice(0, 40)}`, { param: this.#path(name) });
  }

  oneOf<Value extends string>(name: string, values: readonly Value[]): Value | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    const value = values.find((candidate) => candidate === text);
    if (value === undefined) {
      throw invalidRequest(`Invalid ${this.#path(name)}: must be one of ${values.join(', ')}`, {
        param: this.#path(name),
      });
    }
    return value;
  }

  object(name: string): Parameters | undefined {
    const value = this.#take(name);
    if (value === undefined || value === '') return undefined;
    if (!isRecord(value)) throw invalidRequest(`Invalid object: ${this.#path(name)}`, { param: this.#path(name) });
    return new Parameters(value, this.#path(name));
  }

  list(name: string): string[] | undefined {
    const value = this.#take(name);
    if (value === undefined) return undefined;
    const entries = Array.isArray(value) ? value : isRecord(value) ? Object.values(value) : [value];
    return entries.map((entry) => {
      if (typeof entry === 'string') return entry;
      throw invalidRequest(`Invalid array: ${this.#path(name)}`, { param: this.#path(name) });
    });
  }

  /** Metadata as given: an empty value stands for "remove this key"; null stands for "remove them all". */
  metadata(): Record<string, string> | null | undefined {
    const value = this.#take('metadata');
    if (value === undefined) return undefined;
    if (value === '') return null;
    if (!isRecord(value)) throw invalidRequest('Invalid object: metadata', { param: 'metadata' });
    const entries = Object.entries(value);
    if (entries.length > maxMetadataKeys) {
      throw invalidRequest(`Metadata may hold at most ${maxMetadataKeys} keys.`, { param: 'metadata' });
    }
    return Object.fromEntries(
      entries.map(([key, text]) => {
        if (typeof text !== 'string' || text.length > maxValueLength || key.length > maxKeyLength) {
          throw invalidRequest(
            `Metadata keys are at most ${maxKeyLength} characters long, values texts of at most ${maxValueLength}.`,
            { param: `metadata[${key.slice(0, maxKeyLength)}]` },
          );
        }
        return [key, text];
      }),
    );
  }

  /** A whole subtree that is kept as it came. */
  raw(name: string): unknown {
    return this.#take(name);
  }

  finish(): void {
    const unknown = Object.keys(this.#values).find((name) => !this.#read.has(name));
    if (unknown === undefined) return;
    const path = this.#path(unknown.slice(0, 80));
    throw invalidRequest(`Received unknown parameter: ${path}`, { param: path, code: 'parameter_unknown' });
  }

  #take(name: string): unknown {
    this.#read.add(name);
    return this.#values[name];
  }

  #path(name: string): string {
    return this.#prefix === '' ? name : `${this.#prefix}[${name}]`;
  }

  #missing(name: string): never {
    const path = this.#path(name);
    throw invalidRequest(`Missing required param: ${path}.`, { param: path, code: 'parameter_missing' });
  }

  #empty(name: string): Error {
    const path = this.#path(name);
    return invalidRequest(
      `You passed an empty string for '${path}'. We assume empty values are an attempt to unset a parameter; however '${path}' cannot be unset.`,
      { param: path, code: 'parameter_invalid_empty' },
    );
  }
}

/** Metadata after an update, by Stripe's rule: keys merge, an empty value removes its key, null removes all. */
export function mergedMetadata(
  current: Record<string, string>,
  given: Record<string, string> | null | undefined,
): Record<string, string> {
  if (given === undefined) return current;
  if (given === null) return {};
  return Object.fromEntries(Object.entries({ ...current, ...given }).filter(([, value]) => value !== ''));
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

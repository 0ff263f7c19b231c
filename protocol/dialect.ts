import { z } from 'zod';
import { failure } from './errors';

/** How field names are written: as in TypeScript (vscode-jsonrpc), or in snake_case (lines and HTTP). */
export type Dialect = 'camel' | 'line';

/**
 * The line dialect: the same messages with their declared field names in snake_case. Renaming follows the schema, never
 * the data, so a map that belongs to the user (an environment) passes through untouched.
 */
export type Direction = 'toLine' | 'fromLine';

type Rename = (data: unknown) => unknown;

export const toSnake = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

export const spell = (name: string, dialect: Dialect) => (dialect === 'line' ? toSnake(name) : name);

const compiled: Record<Direction, WeakMap<z.core.$ZodType, Rename>> = {
  toLine: new WeakMap(),
  fromLine: new WeakMap(),
};

/** Renames the declared fields of `data`; what the schema does not know is left as it is, for validation to report. */
export function translate(schema: z.core.$ZodType, data: unknown, direction: Direction): unknown {
  return renamer(schema, direction)(data);
}

function renamer(schema: z.core.$ZodType, direction: Direction): Rename {
  const known = compiled[direction].get(schema);
  if (known !== undefined) return known;
  const made = build(schema, direction);
  compiled[direction].set(schema, made);
  return made;
}

function build(schema: z.core.$ZodType, direction: Direction): Rename {
  if (schema instanceof z.ZodObject) return renameFields(schema, direction);
  if (schema instanceof z.ZodArray) return renameItems(renamer(schema.element, direction));
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable) return renamer(schema.unwrap(), direction);
  if (schema instanceof z.ZodUnion) return renameAnyOf(schema.options, direction);
  return (data) => data;
}

function renameFields(schema: z.ZodObject, direction: Direction): Rename {
  const fields = new Map<string, { name: string; rename: Rename }>();
  for (const [camel, field] of Object.entries(schema.shape)) {
    const snake = toSnake(camel);
    const [from, to] = direction === 'toLine' ? [camel, snake] : [snake, camel];
    fields.set(from, { name: to, rename: renamer(field as z.core.$ZodType, direction) });
  }
  const foreign = (key: string) => direction === 'fromLine' && Object.hasOwn(schema.shape, key);
  return (data) => {
    if (typeof data !== 'object' || data === null || Array.isArray(data)) return data;
    const renamed: Record<string, unknown> = {};
    for (const [key, inner] of Object.entries(data)) {
      const field = fields.get(key);
      if (field === undefined && foreign(key)) throw otherDialect(key);
      // defineProperty, because assigning to a key called __proto__ would not create it.
      const [name, content] = field === undefined ? [key, inner] : [field.name, field.rename(inner)];
      Object.defineProperty(renamed, name, { value: content, enumerable: true, writable: true, configurable: true });
    }
    return renamed;
  };
}

const otherDialect = (key: string) =>
  failure.invalidParams(`There is no field "${key}" here: write it as "${toSnake(key)}".`, { field: key });

function renameItems(rename: Rename): Rename {
  return (data) => (Array.isArray(data) ? data.map(rename) : data);
}

/** The alternatives of a union never give one name two meanings, so renaming by each of them in turn is safe. */
function renameAnyOf(options: readonly z.core.$ZodType[], direction: Direction): Rename {
  const renames = options.map((option) => renamer(option, direction));
  return (data) => renames.reduce((renamed, rename) => rename(renamed), data);
}

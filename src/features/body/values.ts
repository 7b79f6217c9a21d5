/** What the fields of a body say. No spelling of a body hides one: in doubt nobody can tell. */

import type { RequestBody } from "../../kernel/request/request-body.ts";
import { type Field, isForm, readForm } from "./form.ts";

/** What a field says. undefined: the body surely has no such field. null: nobody can tell. */
export type BodyValue = string | null | undefined;

export type FindValue = (path: string) => BodyValue;

/**
 * Makes what finds the fields of a body.
 *
 * @param body as it was read, or as a parser in front has made it.
 */
export function valuesIn(body: RequestBody, headers: Pick<Headers, "get">): FindValue {
  const { length, json, isClear, bytes } = body;
  if (length === 0) return () => undefined;
  const nobodyKnows = () => null;
  if (!isForm(headers)) return isClear ? (path) => valueAt(path, json) : nobodyKnows;
  if (isClear && !bytes) return valuesOfParsed(json);
  const fields = bytes && readForm(bytes, headers);
  return fields ? valuesOfFields(fields) : nobodyKnows;
}

/** A form that a parser in front has read: `user[email]` may have become a member of a member. */
function valuesOfParsed(json: unknown): FindValue {
  const find = valuesOfFields(Object.entries(json ?? {}).map(([name, value]) => ({ name, value: parsedText(value) })));
  return (path) => {
    const value = find(path);
    return value === undefined ? valueAt(path, json, parsedText) : value;
  };
}

/** A field that came twice, or with brackets, has become a list or an object. */
function parsedText(value: unknown): BodyValue {
  return typeof value === "object" && value !== null ? null : plainText(value);
}

const INDEX = /^(?:0|[1-9]\d*)$/;

/** The value behind the names of a path, each of a member of an object or the position of an item. */
function valueAt(path: string, json: unknown, textOf: (value: unknown) => BodyValue = plainText): BodyValue {
  let value = json;
  for (const name of path.match(/[^.[\]]+/g) ?? []) {
    if (typeof value !== "object" || value === null) return undefined;
    if (Array.isArray(value)) {
      value = INDEX.test(name) ? value[Number(name)] : undefined;
      continue;
    }
    const alike = namesLike(name, value);
    if (alike.length === 0) return undefined;
    if (alike.length > 1 || alike[0] !== name) return null;
    value = (value as Readonly<Record<string, unknown>>)[name];
  }
  return textOf(value);
}

/** Names that some servers take for this one: Go compares them without case. */
function namesLike(name: string, value: object): string[] {
  // Most names are of another length, and a body may have very many.
  const alike = new RegExp(`^${escaped(name)}$`, "iu");
  return Object.keys(value).filter((one) => one.length === name.length && alike.test(one));
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
}

/** Texts, numbers and booleans. What is empty says nothing. */
function plainText(value: unknown): string | undefined {
  const isPlain = typeof value === "string" || typeof value === "number" || typeof value === "boolean";
  return isPlain ? String(value) || undefined : undefined;
}

function valuesOfFields(fields: readonly Field[]): FindValue {
  const all = fields.map(({ name, value }) => ({ name, value, plain: plainName(name) }));
  return (path) => {
    // `user[email]` and `user.email` are one name, to PHP with `user_email`, `user email` and `user[email]x`. Some take
    // `email[]` for a list, of which a program may use an item.
    const names = plainName(path)
      .replaceAll("]", "")
      .split(/[._[\s]/);
    const alike = new RegExp(`^${names.map(escaped).join("\\]?[._[\\s]")}(?:[[\\]].*)?$`, "isu");
    const found = all.filter(({ plain }) => alike.test(plain));
    if (found.length === 0) return undefined;
    return found.length === 1 && withDots(found[0]!.name) === withDots(path) ? found[0]!.value : null;
  };
}

/** The name without what servers cut off (PHP, behind NUL), drop or trim. */
function plainName(name: string): string {
  return name
    .replace(/\0.*/s, "")
    .replace(/[\p{Cc}\p{Cf}]/gu, "")
    .trim();
}

function withDots(name: string): string {
  return name.replace(/\[([^[\]]+)\]/g, ".$1");
}

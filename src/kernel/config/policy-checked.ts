/**
 * What the compiler says about policies that are written in place. It sees their exact texts, and answers a wrong one
 * at its field. Texts that it does not know, as in a list that stands in a variable, are checked when the limiter is
 * made.
 */

import type { AlgorithmName } from "../core/policy.ts";
import type { SlidingWindowInput } from "../core/sliding-window.ts";
import type { LimitInput, PolicyInput } from "./policy-input.ts";

/** The same with any text in the place of words, as TypeScript sees it in a variable. Editors complete the words. */
type Loose<T> = T extends string
  ? string extends T
    ? T
    : T | (string & {})
  : T extends readonly (infer Item)[]
    ? readonly Loose<Item>[]
    : T extends object
      ? LooseFields<T> extends T
        ? T
        : LooseFields<T>
      : T;
type LooseFields<T> = { readonly [K in keyof T]: Loose<T[K]> };

/** Every field that a limit may have, with any value: the message comes from the field itself. */
type LooseLimitFields<L = LimitInput> = L extends unknown
  ? { readonly [K in keyof L as Exclude<K, "limit">]?: Loose<L[K]> | number | string | undefined }
  : never;
type LooseLimit = { readonly limit: number | string } & LooseLimitFields;

/** A policy whose texts TypeScript does not know. */
export interface LoosePolicy extends LooseFields<Omit<PolicyInput, "key" | "limits">> {
  /** As in `PolicyInput`. A function is here to be answered: no policy has one. */
  readonly key?: Loose<PolicyInput["key"]> | ((request: never) => unknown);
  /** 1 to 8 limits. */
  readonly limits: readonly LooseLimit[];
}

/** The policies' names. Any, where TypeScript knows of no policy: `as never`. */
export type NameIn<P extends readonly LoosePolicy[]> = [P] extends [never] ? string : P[number]["name"];

/** `Right`. What is given is inferred as it is: it may also be one of several lists, as in `isTest ? [] : policies`. */
export type Inferred<P, Right> = [P] extends [never] ? P : Right;

/** Policies, or what is wrong with them: a text in the place of a type is the compiler's message. */
export type CheckedPolicies<P> = { readonly [I in keyof P]: CheckedPolicy<P[I]> };

type CheckedPolicy<P> = {
  readonly [K in keyof P]: K extends "name"
    ? CheckedName<P[K]>
    : K extends "limits"
      ? CheckedLimits<P[K]>
      : K extends "key"
        ? CheckedKey<P[K]>
        : K extends keyof PolicyInput
          ? Checked<P[K], PolicyInput[K]>
          : NoField<K, "a policy">;
};

type CheckedKey<T> = T extends PolicyInput["key"] | Open<T>
  ? T
  : T extends readonly unknown[]
    ? { readonly [I in keyof T]: CheckedKey<T[I]> }
    : T extends (request: never) => unknown
      ? "a function that names the client is the option key of withRateLimit and rateLimit" & Unseen
      : "key: ip, bearer, header:<name>, jwt:<name>, … or several joined by +";

/** Editors do not offer the text as a value. */
interface Unseen {
  readonly unseen?: never;
}

type CheckedLimits<L> = { readonly [I in keyof L]: CheckedLimit<L[I]> };

type CheckedLimit<L> = {
  readonly [K in keyof L]: K extends EachKey<LimitOf<L>>
    ? K extends "window"
      ? CheckedWindow<L[K], ValueIn<LimitOf<L>, K>>
      : K extends "limit"
        ? CheckedNumber<L>
        : Checked<L[K], ValueIn<LimitOf<L>, K>>
    : K extends EachKey<LimitInput>
      ? `${K} belongs to the algorithm ${OwnerOf<K>}`
      : NoField<K, "a limit">;
};

/** The limits that `algorithm` may name. Without a known name: any. TypeScript 5 sees the fields only by `keyof`. */
type LimitOf<L> = "algorithm" extends keyof L ? LimitNamed<L[keyof L & "algorithm"]> : SlidingWindowInput;
type LimitNamed<Name> = Name extends "sliding-window" | undefined
  ? SlidingWindowInput
  : Name extends AlgorithmName
    ? Extract<LimitInput, { readonly algorithm: Name }>
    : LimitInput;

type EachKey<T> = T extends unknown ? keyof T : never;
type ValueIn<T, K> = T extends unknown ? (K extends keyof T ? T[K] : never) : never;
type OwnerOf<K, L = LimitInput> = L extends { readonly algorithm?: infer Name }
  ? K extends keyof L
    ? Extract<Name, string>
    : never
  : never;

/** `windowMs` and its like are another limiter's. */
type NoField<K, Of extends string> = K extends (Of extends "a policy" ? EachKey<LimitInput> | "windowMs" : never)
  ? `${K & string} belongs in limits: [{ limit: 100, window: "1m" }]`
  : K extends `${infer Name}Ms`
    ? `${Of} has no field ${K}: write ${Name} with its unit, for example "1m"`
    : `${Of} has no field ${K & string}`;

/** A text that is not wholly known: `string`, or a template of it. Otherwise never. */
type Open<T> = T extends string ? (Record<never, never> extends Record<T, 1> ? T : never) : never;

type CheckedWindow<T, Right> =
  T extends Open<T>
    ? T
    : T extends Right
      ? T
      : "day" extends Right
        ? Right
        : 'window: a number with its unit, for example "10s", "1m" or "1h"';

/** The window is missing where the limit is. */
type CheckedNumber<L> =
  LimitOf<L> extends { readonly window: unknown }
    ? "window" extends keyof L
      ? number
      : 'a limit needs its window, for example window: "1m"'
    : number;

/** A value as it is written, if it fits; otherwise the type that fits. */
type Checked<T, Right> = T extends readonly unknown[]
  ? CheckedItems<T, Extract<Right, readonly unknown[]>>
  : T extends object
    ? CheckedFields<T, Exclude<Extract<Right, object>, readonly unknown[]>>
    : T extends Right
      ? T
      : T extends Open<T>
        ? Extract<Right, string> extends never
          ? Right
          : T
        : Right;
type CheckedItems<T, Right> = {
  readonly [I in keyof T]: Right extends readonly (infer Item)[] ? Checked<T[I], Item> : never;
};
type CheckedFields<T, Right> = [Right] extends [T]
  ? T
  : {
      readonly [K in keyof T]: Text<K> extends EachKey<Right>
        ? Checked<T[K], ValueIn<Right, Text<K>>>
        : `no field ${Text<K>} here`;
    };
/** A name may be written as a number: `above: { 200000: … }`. */
type Text<K> = `${K & (string | number)}`;

type Letter = "a" | "b" | "c" | "d" | "e" | "f" | "g" | "h" | "i" | "j" | "k" | "l" | "m" | "n" | "o" | "p" | "q" | "r";
type Letters = Letter | "s" | "t" | "u" | "v" | "w" | "x" | "y" | "z" | `${0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9}`;
type CheckedName<T> =
  T extends Open<T>
    ? T
    : T extends `${infer First}${infer Rest}`
      ? First extends Letters
        ? IsName<Rest> extends true
          ? T
          : "name: 1 to 32 of a-z, 0-9 and -"
        : "name: 1 to 32 of a-z, 0-9 and -, not beginning with -"
      : string;
type IsName<Rest> = Rest extends "" ? true : Rest extends `${Letters | "-"}${infer More}` ? IsName<More> : false;

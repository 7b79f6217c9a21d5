/**
 * Stands in for `hono/jsx/jsx-runtime` in the Worker ([alias] in wrangler.toml): elements as text, escaped by Hono, without the
 * contexts, promises and moved elements of Hono's own runtime, which is 4 KiB (gzip) larger. A test renders the page with both.
 */

import { escapeToBuffer, raw } from "hono/utils/html";

type Props = Readonly<Record<string, unknown>>;
type Component = (props: Props) => unknown;

const VOID = /^(?:meta|link|input)$/;

export function jsx(type: string | Component, props: Props): unknown {
  if (typeof type === "function") return type(props);
  const { children, ...attributes } = props;
  let text = `<${type}`;
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue;
    text += ` ${name}="${value === true ? "" : escaped(String(value))}"`;
  }
  return raw(VOID.test(type) ? `${text}/>` : `${text}>${textOf(children)}</${type}>`);
}

export const jsxs = jsx;

export const Fragment: Component = ({ children }) => raw(textOf(children));

function textOf(child: unknown): string {
  if (Array.isArray(child)) return child.map(textOf).join("");
  if (child === undefined || child === null || typeof child === "boolean") return "";
  return (child as { isEscaped?: true }).isEscaped ? String(child) : escaped(String(child));
}

function escaped(text: string): string {
  const buffer: [string] = [""];
  escapeToBuffer(text, buffer);
  return buffer[0];
}

/** @jsxImportSource hono/jsx */

/** A table of the page, and what lets a narrow screen scroll it. */

import type { Child } from "hono/jsx";

interface TableProps {
  readonly caption: Child;
  readonly headings: readonly string[];
  /** The first cell of a row is its heading. */
  readonly rows: readonly (readonly Child[])[];
  /** Columns of text, whose lines may break: their indices. */
  readonly texts?: readonly number[];
}

export function Table({ caption, headings, rows, texts = [] }: TableProps) {
  const textAt = (column: number) => (texts.includes(column) ? { class: "w" } : {});
  return (
    <table>
      <caption>{caption}</caption>
      <thead>
        <tr>
          {headings.map((heading, column) => (
            <th scope="col" {...textAt(column)}>
              {heading}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map(([heading, ...cells]) => (
          <tr>
            <th scope="row">{heading}</th>
            {cells.map((cell, i) => (
              <td {...textAt(i + 1)}>{cell}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

export function Scroll({ name, children }: { name: string; children: Child }) {
  return (
    <section class="scroll" aria-label={name} tabindex={0}>
      {children}
    </section>
  );
}

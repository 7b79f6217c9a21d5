/** A table. Each column says its heading once, and what it shows of a row. Phones show the heading in each cell. */

import type { ComponentChildren } from "preact";

export interface Column<Row> {
  readonly heading: string;
  /** What phones show in place of the heading. */
  readonly short?: string;
  /** `bar`, `button`: the heading is only for those who cannot see the cells. */
  readonly is?: "number" | "bar" | "button";
  cell(row: Row): ComponentChildren;
}

interface TableProps<Row> {
  readonly class?: string;
  readonly caption: ComponentChildren;
  /** The first one names the row. */
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly foot?: string;
  keyOf(row: Row): string | number;
}

const CLASSES = { number: "number", bar: "wide", button: undefined };

export function Table<Row>({ caption, columns, rows, foot, keyOf, ...rest }: TableProps<Row>) {
  const [naming, ...others] = columns as [Column<Row>, ...Column<Row>[]];
  return (
    <table {...rest}>
      <caption>{caption}</caption>
      <thead>
        <tr>
          {columns.map(({ heading, is }) => (
            <th key={`${heading} ${is}`} scope="col" class={is && CLASSES[is]}>
              {is === "bar" || is === "button" ? <span class="unseen">{heading}</span> : heading}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={keyOf(row)}>
            <th scope="row">{naming.cell(row)}</th>
            {others.map((column) => (
              <Cell key={column.heading} {...column} row={row} />
            ))}
          </tr>
        ))}
      </tbody>
      {foot && (
        <tfoot>
          <tr>
            <td colSpan={columns.length}>{foot}</td>
          </tr>
        </tfoot>
      )}
    </table>
  );
}

function Cell<Row>({ heading, short = heading, is, cell, row }: Column<Row> & { readonly row: Row }) {
  if (is === "button") return <td>{cell(row)}</td>;
  return (
    <td class={is && CLASSES[is]} {...(is === "bar" ? { "aria-hidden": true } : { "data-of": short })}>
      {cell(row)}
    </td>
  );
}

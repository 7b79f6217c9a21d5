/**
 * Clients of a Worker over plain sockets: a full HTTP client would cost more CPU than the Worker that is measured. An
 * answer is recognised by its status line and its Content-Length.
 */

import { connect, type Socket } from "node:net";

export interface Answer {
  readonly status: number;
  readonly latencyMs: number;
}

/** One kept-alive connection. Its requests are answered in order. */
class Connection {
  readonly #socket: Socket;
  readonly #waiting: { readonly sentAt: number; readonly done: (answer: Answer) => void }[] = [];
  #rest: Buffer = Buffer.alloc(0);

  constructor(port: number) {
    this.#socket = connect({ port, host: "127.0.0.1", noDelay: true });
    this.#socket.on("data", (chunk) => this.#read(chunk));
    // Without this, a waiting client would wait forever.
    this.#socket.on("error", (error) => {
      throw error;
    });
  }

  get isIdle(): boolean {
    return this.#waiting.length === 0;
  }

  send(request: string, done: (answer: Answer) => void): void {
    this.#waiting.push({ sentAt: performance.now(), done });
    this.#socket.write(request);
  }

  close(): void {
    this.#socket.destroy();
  }

  #read(chunk: Buffer): void {
    this.#rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    for (;;) {
      const end = this.#rest.indexOf("\r\n\r\n");
      if (end < 0) return;
      const head = this.#rest.toString("latin1", 0, end);
      const length = Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1]);
      if (Number.isNaN(length)) throw new Error(`expected an answer with Content-Length, found: ${head}`);
      if (this.#rest.length < end + 4 + length) return;
      this.#rest = this.#rest.subarray(end + 4 + length);
      const { sentAt, done } = this.#waiting.shift()!;
      done({ status: Number(head.slice(9, 12)), latencyMs: performance.now() - sentAt });
    }
  }
}

function requestOf(path: string, client: string): string {
  return `GET ${path} HTTP/1.1\r\nHost: bench.example\r\nCF-Connecting-IP: ${client}\r\n\r\n`;
}

/** Sends `perSecond` requests per second for `forMs`, whether answers come or not. Resolves when all are answered. */
export async function paced(port: number, perSecond: number, forMs: number, client: string): Promise<Answer[]> {
  const idle: Connection[] = [];
  const all: Connection[] = [];
  const answers: Promise<Answer>[] = [];
  const request = requestOf("/", client);
  const startAt = performance.now();
  const count = Math.round((perSecond * forMs) / 1000);
  for (let i = 0; i < count; i++) {
    const waitMs = startAt + (i * 1000) / perSecond - performance.now();
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
    let connection = idle.pop();
    if (!connection) {
      connection = new Connection(port);
      all.push(connection);
    }
    const used = connection;
    answers.push(
      new Promise((resolve) =>
        used.send(request, (answer) => {
          idle.push(used);
          resolve(answer);
        }),
      ),
    );
  }
  const done = await Promise.all(answers);
  for (const connection of all) connection.close();
  return done;
}

/** Sends as many requests as are served in `forMs`, over 16 connections with 4 open requests each. */
export async function flooded(
  port: number,
  forMs: number,
  client: string,
): Promise<{ perSecond: number; statuses: Map<number, number> }> {
  const statuses = new Map<number, number>();
  const request = requestOf("/", client);
  const startAt = performance.now();
  let answered = 0;
  await Promise.all(
    Array.from({ length: 16 }, () => {
      const connection = new Connection(port);
      return new Promise<void>((resolve) => {
        const next = () => {
          if (performance.now() - startAt < forMs) {
            connection.send(request, ({ status }) => {
              answered++;
              statuses.set(status, (statuses.get(status) ?? 0) + 1);
              next();
            });
          } else if (connection.isIdle) {
            connection.close();
            resolve();
          }
        };
        for (let i = 0; i < 4; i++) next();
      });
    }),
  );
  return { perSecond: (1000 * answered) / (performance.now() - startAt), statuses };
}

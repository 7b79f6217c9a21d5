/** Relays the messages of a WebSocket, as long as it is open: so it is known when it closes. */

/**
 * Bytes that one side is sent while it sends nothing itself. A Worker cannot wait until a side has read: what it has
 * not read yet stays in memory.
 */
const MOST_UNANSWERED = 4 * 1024 * 1024;

/** Status codes of RFC 6455, section 7.4. */
const [NOT_STATED, UNEXPECTED, TRY_AGAIN_LATER] = [1005, 1011, 1013];
/** They say how a connection has ended, and are never sent. */
const NEVER_SENT = [1004, 1006, 1015];

type Data = string | ArrayBuffer;

/** What is used of a WebSocket of Workers. Other runtimes have none, nor its types. */
interface WorkersSocket {
  binaryType: string;
  accept(options: { readonly allowHalfOpen: boolean }): void;
  send(data: Data): void;
  close(code?: number, reason?: string): void;
  addEventListener(name: "message", listener: (event: { readonly data: Data }) => void): void;
  addEventListener(name: "close", listener: (event: { readonly code: number; readonly reason: string }) => void): void;
  addEventListener(name: "error", listener: () => void): void;
}

interface Workers {
  readonly WebSocketPair: new () => { readonly 0: WorkersSocket; readonly 1: WorkersSocket };
}

/** The WebSocket of a handshake that has succeeded. */
export function socketOf(answer: Response): WorkersSocket | undefined {
  return (answer as { readonly webSocket?: WorkersSocket | null }).webSocket ?? undefined;
}

/** One of the two sockets of a relay. */
interface Side {
  readonly socket: WorkersSocket;
  /** Bytes that it was sent since it has sent something. */
  unanswered: number;
}

/**
 * @param answer a handshake that has succeeded. @param far its WebSocket. @param lost aborted when it must close: its
 * slots cannot be renewed any more. @param closed called once, when one side has closed or failed.
 * @returns the same handshake, whose messages pass through here.
 */
export function relay(answer: Response, far: WorkersSocket, lost: AbortSignal, closed: () => void): Response {
  const { WebSocketPair } = globalThis as unknown as Workers;
  const { 0: client, 1: near } = new WebSocketPair();
  const sides = [far, near].map((socket): Side => ({ socket, unanswered: 0 }));
  let isOpen = true;
  const close = (code: number, reason?: string) => {
    if (!isOpen) return;
    isOpen = false;
    for (const { socket } of sides) closeSocket(socket, code, reason);
    closed();
  };
  const giveUp = () => close(TRY_AGAIN_LATER, "open for longer than its slot can be renewed");

  const pass = (from: Side, to: Side) => {
    const { socket } = from;
    socket.addEventListener("message", ({ data }) => {
      if (!isOpen) return;
      from.unanswered = 0;
      to.unanswered += bytesOf(data);
      if (to.unanswered > MOST_UNANSWERED) close(TRY_AGAIN_LATER, "too much was sent that nobody has answered");
      else to.socket.send(data);
    });
    socket.addEventListener("close", ({ code, reason }) => close(code, reason));
    socket.addEventListener("error", () => close(UNEXPECTED));
    socket.binaryType = "arraybuffer";
    // Both sides are closed here, with the same code.
    socket.accept({ allowHalfOpen: true });
  };
  const [one, other] = sides as [Side, Side];
  pass(one, other);
  pass(other, one);
  if (lost.aborted) giveUp();
  lost.addEventListener("abort", giveUp);
  const { status, headers } = answer;
  return new Response(null, { status, headers, webSocket: client } as ResponseInit);
}

const encoder = new TextEncoder();

function bytesOf(data: Data): number {
  return typeof data === "string" ? encoder.encode(data).byteLength : data.byteLength;
}

/** A socket that has failed cannot be closed any more. */
function closeSocket(socket: WorkersSocket, code: number, reason: string | undefined): void {
  try {
    if (code === NOT_STATED) socket.close();
    else socket.close(NEVER_SENT.includes(code) ? UNEXPECTED : code, reason);
  } catch {}
}

/**
 * Talks to the node: requests with the operator's token, and the live stream.
 *
 * The token is kept in sessionStorage, so it ends with the tab, and travels in a header, so no other page can
 * make this browser send it.
 */
import type { LiveFrame, LivePoint } from '../../telemetry/node-status.ts';

export type Json = Readonly<Record<string, unknown>>;

/** The part of JSON Schema that forms use. */
export interface FieldSchema {
  readonly type?: string;
  readonly enum?: readonly string[];
  readonly description?: string;
  readonly examples?: readonly unknown[];
  readonly maxLength?: number;
  readonly items?: FieldSchema;
}

export interface ObjectSchema {
  readonly properties?: Readonly<Record<string, FieldSchema>>;
  readonly required?: readonly string[];
}

/** An operation of the private listener, as its route describes it. */
export interface PageOperation {
  readonly command: string;
  readonly method: string;
  readonly path: string;
  readonly summary: string;
  /** It can say what it would do. */
  readonly isPreviewed: boolean;
  readonly params?: ObjectSchema;
  readonly query?: ObjectSchema;
  readonly body?: ObjectSchema;
}

export interface Answer {
  readonly status: number;
  readonly json: Json;
}

/** Who is signed in. */
export interface PageSession {
  readonly operator: string;
  readonly readOnly: boolean;
  readonly operations: readonly PageOperation[];
  /** How commands begin in this installation. */
  readonly commandStart: string;
  /** Never rejects: status 0 is a node that does not answer. */
  call(method: string, path: string, body?: object): Promise<Answer>;
}

const tokenKey = 'rollcall-operator-token';
export const readToken = (): string => sessionStorage.getItem(tokenKey) ?? '';
export const forgetToken = (): void => sessionStorage.removeItem(tokenKey);
const authorise = (token: string) => ({ authorization: `Operator ${token}` });

const call = async (token: string, request: { method: string; path: string; body?: object | undefined }) => {
  const { method, path, body } = request;
  try {
    const response = await fetch(path, {
      method,
      headers: { ...authorise(token), ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    });
    return { status: response.status, json: (await response.json()) as Json };
  } catch {
    return { status: 0, json: { message: 'The node does not answer.' } };
  }
};

/** The message of an answer, with the fields that it refuses. */
export const describeAnswer = ({ json }: Answer): string => {
  const context = (json.context ?? {}) as Readonly<Record<string, string>>;
  const fields = Object.entries(context).filter(([name]) => name.startsWith('/'));
  return [String(json.message ?? 'Done.'), ...fields.map(([name, text]) => `${name.slice(1)} ${text}.`)].join(
    ' ',
  );
};

/** Signs in; keeps the token if it is right. Resolves to the reason if not. */
export const authenticate = async (token: string, onSignedOut: () => void): Promise<PageSession | string> => {
  const answer = await call(token, { method: 'GET', path: '/page/operations' });
  if (answer.status !== 200) return describeAnswer(answer);
  sessionStorage.setItem(tokenKey, token);
  const { operator, read_only, operations, command_start } = answer.json;
  return {
    operator: String(operator),
    readOnly: read_only === true,
    operations: operations as readonly PageOperation[],
    commandStart: String(command_start),
    call: async (method, path, body) => {
      const reply = await call(token, { method, path, body });
      if (reply.status === 401) onSignedOut();
      return reply;
    },
  };
};

export interface LiveReader {
  onHistory(points: readonly LivePoint[]): void;
  onFrame(frame: LiveFrame): void;
  /** The stream is cut; the next attempt follows by itself. */
  onCut(reason: string): void;
}

const retryMs = 2_000;

/** Frames come each second: after this time without one the connection is dead, though it seems open. */
const silenceMsMax = 5_000;

const readStream = async (reader: LiveReader, stop: AbortController): Promise<string> => {
  const response = await fetch('/live', { headers: authorise(readToken()), signal: stop.signal });
  if (!response.ok || response.body === null) {
    return describeAnswer({ status: response.status, json: (await response.json()) as Json });
  }
  const chunks = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  for (;;) {
    const timer = setTimeout(() => stop.abort(), silenceMsMax);
    const { done, value } = await chunks.read();
    clearTimeout(timer);
    if (done) return 'The node has ended the stream.';
    const events = (text + value).split('\n\n');
    text = events.pop() ?? '';
    for (const event of events) {
      const [, name, data = ''] = /^event: (\w+)\ndata: (.*)$/m.exec(event) ?? [];
      if (name === 'history') reader.onHistory(JSON.parse(data));
      if (name === 'frame') reader.onFrame(JSON.parse(data));
    }
  }
};

/**
 * Reads the live stream until the returned function is called. Opens it again when it is cut, and closes it
 * while the tab is hidden.
 */
export const watchLive = (reader: LiveReader): (() => void) => {
  let [ended, stop] = [false, new AbortController()];
  let timer = 0;
  const open = async (): Promise<void> => {
    clearTimeout(timer);
    if (ended || document.hidden) return;
    stop = new AbortController();
    const mine = stop;
    const reason = await readStream(reader, mine).catch(() => 'The node does not answer.');
    if (ended || document.hidden || mine !== stop) return;
    reader.onCut(reason);
    timer = setTimeout(open, retryMs);
  };
  const onVisibility = (): void => {
    stop.abort();
    void open();
  };
  document.addEventListener('visibilitychange', onVisibility);
  void open();
  return () => {
    ended = true;
    stop.abort();
    clearTimeout(timer);
    document.removeEventListener('visibilitychange', onVisibility);
  };
};

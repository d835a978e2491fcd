/**
 * Requests of an operator to a node of the stack, at its private listener.
 */
import type { Answer } from '../../../bench/shared/http-client.ts';
import { type Life, operatorToken, type Stack } from './stack.ts';

export interface Operation {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly path: string;
  readonly body?: object;
}

/** Rejects with `NoAnswer` when the node ends before it has answered. */
export const operate = (
  { client }: Pick<Stack, 'client'>,
  { node }: Pick<Life, 'node'>,
  operation: Operation,
) => {
  const { method, path, body } = operation;
  const headers = { authorization: `Operator ${operatorToken}`, 'Content-Type': 'application/json' };
  const request = { method, headers, ...(body && { body: JSON.stringify(body) }) };
  return client.ask(`${node.adminUrl}${path}`, request) satisfies Promise<Answer>;
};

/**
 * Operations that show the nodes of the fleet as their last heartbeats describe them
 * (docs/operators/watching.md).
 */
import { Type } from 'typebox';
import { Flag, Text, TextList, toNullable } from '../api/shared/common.ts';
import type { App } from '../app.ts';
import { type Reply, replyOk } from '../response/reply.ts';
import { judgeHealth } from './health.ts';
import { buildListOf } from './list-schema.ts';
import { replyWhole } from './lists.ts';
import { type AdminOperation, defineOperation } from './operation.ts';

const NodeRow = Type.Object({
  node: Text,
  version: Text,
  uptime_s: Type.Integer(),
  requests_per_s: Type.Number(),
  hot_store_ms: toNullable(Type.Number()),
  sql_ms: toNullable(Type.Number()),
  backlog_entities: Type.Integer(),
  outbox_votes: Type.Integer(),
  flush_lag_s: Type.Number(),
});

const FleetStatus = Type.Object({
  ready: Flag,
  notes: TextList,
  requests_per_s: Type.Number(),
  backlog_entities: Type.Integer(),
  outbox_votes: Type.Integer(),
  flush_lag_s: Type.Number(),
  nodes: Type.Array(NodeRow),
});

export const nodeOperations: readonly AdminOperation[] = [
  defineOperation('nodes list', 'GET /nodes', {
    summary: 'Lists the live nodes with their version, load, backlog and latencies, a few seconds old.',
    replies: { 200: buildListOf('nodes', NodeRow) },
    handle: (app) => replyWhole('nodes', listRows(app)),
  }),
  defineOperation('status show', 'GET /status', {
    summary: 'Shows whether the node is ready, what the fleet does, and each of its nodes.',
    replies: { 200: FleetStatus },
    handle: (app) => showStatus(app),
  }),
];

const listRows = (app: App) =>
  app.listNodes().map(({ node, version, figures }) => ({ node, version, ...figures }));

/** The whole fleet in one reply: this node's health, sums over all nodes, and the nodes. */
const showStatus = (app: App): Reply => {
  const nodes = listRows(app);
  const { status, notes } = judgeHealth(app);
  const sum = (pick: (node: (typeof nodes)[number]) => number): number =>
    Math.round(nodes.reduce((total, node) => total + pick(node), 0) * 10) / 10;
  return replyOk({
    ready: status === 'ready',
    notes,
    requests_per_s: sum((node) => node.requests_per_s),
    backlog_entities: Math.max(0, ...nodes.map((node) => node.backlog_entities)),
    outbox_votes: Math.max(0, ...nodes.map((node) => node.outbox_votes)),
    flush_lag_s: Math.max(0, ...nodes.map((node) => node.flush_lag_s)),
    nodes,
  });
};

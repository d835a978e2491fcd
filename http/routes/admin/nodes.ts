/**
 * Operations that show the nodes of the fleet (docs/operating.md, "Watching a node").
 */
import { Type } from 'typebox';
import { showNodes, showStatus } from '../../handlers/operator/nodes.ts';
import { Flag, Text, TextList, toNullable } from '../../schema/common.ts';
import { buildList } from '../../schema/operator-lists.ts';
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
  defineOperation({
    command: 'nodes list',
    name: 'listNodes',
    pattern: 'GET /nodes',
    summary: 'Lists the live nodes with their version, load, backlog and latencies, a few seconds old.',
    replies: { 200: buildList('nodes', NodeRow) },
    handle: (app) => showNodes(app),
  }),
  defineOperation({
    command: 'status show',
    name: 'showStatus',
    pattern: 'GET /status',
    summary: 'Shows whether the node is ready, what the fleet does, and each of its nodes.',
    replies: { 200: FleetStatus },
    handle: (app) => showStatus(app),
  }),
];

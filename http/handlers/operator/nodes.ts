/**
 * Shows the nodes of the fleet as their last heartbeats describe them. Used by routes/admin/nodes.ts.
 */
import { type App, type Reply, replyOk } from '../../route.ts';
import { replyWhole } from './lists.ts';

const listRows = (app: App) =>
  app.listNodes().map(({ node, version, figures }) => ({ node, version, ...figures }));

export const showNodes = (app: App): Reply => replyWhole('nodes', listRows(app));

/** The whole fleet in one reply: this node's health, sums over all nodes, and the nodes. */
export const showStatus = (app: App): Reply => {
  const nodes = listRows(app);
  const { ready, notes } = app.engine.readHealth();
  const sum = (pick: (node: (typeof nodes)[number]) => number): number =>
    Math.round(nodes.reduce((total, node) => total + pick(node), 0) * 10) / 10;
  return replyOk({
    ready,
    notes: [...notes, ...app.listWarnings()],
    requests_per_s: sum((node) => node.requests_per_s),
    backlog_entities: Math.max(0, ...nodes.map((node) => node.backlog_entities)),
    outbox_votes: Math.max(0, ...nodes.map((node) => node.outbox_votes)),
    flush_lag_s: Math.max(0, ...nodes.map((node) => node.flush_lag_s)),
    nodes,
  });
};

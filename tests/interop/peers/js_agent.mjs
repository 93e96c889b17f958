// The JavaScript peer: a small agent on @a2a-js/sdk's own server. Imports nothing of locum's.
//
//     node js_agent.mjs --binding jsonrpc|rest
//
// prints one JSON line, {"url": …}, when it can be called, and ends at SIGTERM. A message that
// says `[[name key]]` is treated as BEHAVIOURS below says; any other is echoed. Whoever waits for an
// authorisation goes on when its key is posted to /control/release: {"name": key}. /control/wait
// answers {"what": "push-config", "task": id} when a push config is there.

import { once } from "node:events";
import { createServer } from "node:http";
import { randomUUID } from "node:crypto";
import { parseArgs } from "node:util";

import express from "express";
import { Role, TaskState } from "@a2a-js/sdk";
import {
  AgentEvent,
  DefaultExecutionEventBusManager,
  DefaultRequestHandler,
  InMemoryPushNotificationStore,
  InMemoryTaskStore,
} from "@a2a-js/sdk/server";
import {
  UserBuilder,
  agentCardHandler,
  jsonRpcHandler,
  restHandler,
} from "@a2a-js/sdk/server/express";

// The SDK logs each push and each error of a client; the matrix tells of those itself.
console.info = console.warn = console.error = () => {};

const textPart = (text) => ({
  content: { $case: "text", value: text },
  mediaType: "text/plain",
  filename: "",
  metadata: undefined,
});

const textOf = (message) =>
  message.parts
    .filter((part) => part.content?.$case === "text")
    .map((part) => part.content.value)
    .join("\n");

/** What one turn of a task publishes. */
class Turn {
  constructor(context, bus) {
    this.bus = bus;
    this.taskId = context.taskId;
    this.contextId = context.contextId;
  }

  message(text) {
    return {
      messageId: randomUUID(),
      role: Role.ROLE_AGENT,
      taskId: this.taskId,
      contextId: this.contextId,
      parts: [textPart(text)],
      metadata: undefined,
      extensions: [],
      referenceTaskIds: [],
    };
  }

  status(state, text) {
    this.bus.publish(
      AgentEvent.statusUpdate({
        taskId: this.taskId,
        contextId: this.contextId,
        status: {
          state,
          message: text === undefined ? undefined : this.message(text),
          timestamp: new Date().toISOString(),
        },
        metadata: undefined,
      }),
    );
  }

  artifact(text, { append = false, lastChunk = true } = {}) {
    this.bus.publish(
      AgentEvent.artifactUpdate({
        taskId: this.taskId,
        contextId: this.contextId,
        artifact: {
          artifactId: "result",
          name: "result",
          description: "",
          parts: [textPart(text)],
          metadata: undefined,
          extensions: [],
        },
        append,
        lastChunk,
        metadata: undefined,
      }),
    );
  }

  answer(text) {
    this.artifact(text);
    this.status(TaskState.TASK_STATE_COMPLETED);
  }
}

const CANCELED = Symbol("canceled");
const gates = new Map();

/** The gate of a key: `open` is a promise, `release` keeps it. */
function gate(key) {
  if (!gates.has(key)) {
    let release;
    const open = new Promise((resolve) => (release = resolve));
    gates.set(key, { open, release });
  }
  return gates.get(key);
}

const BEHAVIOURS = {
  async stream(turn) {
    turn.artifact("Hello, ", { lastChunk: false });
    turn.artifact("big ", { append: true, lastChunk: false });
    turn.artifact("world", { append: true });
    turn.status(TaskState.TASK_STATE_COMPLETED);
  },
  async ask(turn, context) {
    if (context.task) {
      turn.answer(textOf(context.userMessage));
    } else {
      turn.status(TaskState.TASK_STATE_INPUT_REQUIRED, "Which hall?");
    }
  },
  async auth(turn, context, canceled, key) {
    turn.status(TaskState.TASK_STATE_AUTH_REQUIRED, "Log in first");
    if ((await Promise.race([canceled, gate(key).open])) === CANCELED) {
      turn.status(TaskState.TASK_STATE_CANCELED, "stopped");
    } else {
      turn.status(TaskState.TASK_STATE_WORKING);
      turn.answer("authorised");
    }
  },
  async fail(turn) {
    turn.status(TaskState.TASK_STATE_FAILED, "no chairs left");
  },
  async reject(turn) {
    turn.status(TaskState.TASK_STATE_REJECTED, "not my work");
  },
  async hang(turn, context, canceled) {
    await canceled;
    turn.status(TaskState.TASK_STATE_CANCELED, "stopped");
  },
  async echo(turn, context) {
    turn.answer(textOf(context.userMessage));
  },
};

class Agent {
  cancels = new Map();

  async execute(context, bus) {
    const turn = new Turn(context, bus);
    const brief = context.task?.history?.[0] ?? context.userMessage;
    const [, name = "echo", key] = /\[\[(\w+) (\S+)\]\]/.exec(textOf(brief)) ?? [];
    if (name === "direct") {
      bus.publish(AgentEvent.message(turn.message("hello there")));
      return;
    }
    const canceled = new Promise((resolve) =>
      this.cancels.set(turn.taskId, () => resolve(CANCELED)),
    );
    // The SDK wants a task at the head of every stream, that of a reply, too.
    bus.publish(
      AgentEvent.task(
        context.task ?? {
          id: turn.taskId,
          contextId: turn.contextId,
          status: {
            state: TaskState.TASK_STATE_SUBMITTED,
            message: undefined,
            timestamp: new Date().toISOString(),
          },
          artifacts: [],
          history: [context.userMessage],
          metadata: undefined,
        },
      ),
    );
    turn.status(TaskState.TASK_STATE_WORKING);
    await BEHAVIOURS[name](turn, context, canceled, key);
    this.cancels.delete(turn.taskId);
  }

  async cancelTask(taskId, bus) {
    const cancel = this.cancels.get(taskId);
    if (cancel) {
      cancel();
    } else {
      new Turn({ taskId, contextId: "" }, bus).status(TaskState.TASK_STATE_CANCELED);
    }
  }
}

class PushConfigs extends InMemoryPushNotificationStore {
  async save(taskId, context, config) {
    await super.save(taskId, context, config);
    gate(`push-config ${taskId}`).release();
  }
}

const { values } = parseArgs({ options: { binding: { type: "string", default: "jsonrpc" } } });
const binding = values.binding === "rest" ? "HTTP+JSON" : "JSONRPC";
const app = express();
const server = createServer(app);
server.listen(0, "127.0.0.1");
await once(server, "listening");
const url = `http://127.0.0.1:${server.address().port}`;

const card = {
  name: "JavaScript peer",
  description: "A small agent on @a2a-js/sdk",
  version: "1.0.0",
  supportedInterfaces: [
    { url: `${url}/a2a`, protocolBinding: binding, protocolVersion: "1.0", tenant: "" },
  ],
  capabilities: { streaming: true, pushNotifications: true, extensions: [] },
  securitySchemes: {},
  securityRequirements: [],
  defaultInputModes: ["text/plain"],
  defaultOutputModes: ["text/plain"],
  skills: [
    {
      id: "behave",
      name: "Behave",
      description: "Does as it is told",
      tags: ["test"],
      examples: [],
      inputModes: [],
      outputModes: [],
      securityRequirements: [],
    },
  ],
  signatures: [],
};
const requestHandler = new DefaultRequestHandler(
  card,
  new InMemoryTaskStore(),
  new Agent(),
  new DefaultExecutionEventBusManager(),
  new PushConfigs(),
);
const userBuilder = UserBuilder.noAuthentication;
app.use("/.well-known/agent-card.json", agentCardHandler({ agentCardProvider: requestHandler }));
app.use(
  "/a2a",
  (binding === "JSONRPC" ? jsonRpcHandler : restHandler)({ requestHandler, userBuilder }),
);
app.post("/control/release", express.json(), (request, response) => {
  gate(request.body.name).release();
  response.json({ released: true });
});
app.post("/control/wait", express.json(), async (request, response) => {
  await gate(`${request.body.what} ${request.body.task}`).open;
  response.json({ reached: true });
});
process.on("SIGTERM", () => process.exit(0));
process.stdin.on("end", () => process.exit(0)).resume();
console.log(JSON.stringify({ url, runtime: `Node.js ${process.version}` }));

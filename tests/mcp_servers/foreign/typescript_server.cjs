// A server of the TypeScript SDK with a tool for each scenario: `typescript_server.cjs [PORT]`.
// It uses standard input and output, or with a port streamable HTTP at /mcp and events at /sse.
const fs = require("node:fs");
const http = require("node:http");
const { randomUUID } = require("node:crypto");
const { McpServer } = require("@modelcontextprotocol/sdk/server/mcp.js");
const { StdioServerTransport } = require("@modelcontextprotocol/sdk/server/stdio.js");
const { StreamableHTTPServerTransport } = require("@modelcontextprotocol/sdk/server/streamableHttp.js");
const { SSEServerTransport } = require("@modelcontextprotocol/sdk/server/sse.js");
const { z } = require("zod");

const PNG = Buffer.from("\x89PNG\r\n\x1a\n rest", "latin1").toString("base64");
const text = (value) => ({ content: [{ type: "text", text: value }] });

function create() {
  const server = new McpServer(
    { name: "foreign", title: "Foreign", version: "1.2.3" },
    { instructions: "Ask for the weather before you paint." },
  );
  const add = (name, config, run) => server.registerTool(name, config, run);

  add(
    "echo",
    {
      title: "Say it again",
      description: "Return the text.",
      inputSchema: { text: z.string() },
      annotations: { readOnlyHint: true, openWorldHint: false },
    },
    async (given) => text(given.text),
  );
  add(
    "weather",
    { inputSchema: { city: z.string() }, outputSchema: { city: z.string(), celsius: z.number() } },
    async ({ city }) => {
      const structuredContent = { city, celsius: 21.5 };
      return { ...text(JSON.stringify(structuredContent)), structuredContent };
    },
  );
  add("picture", {}, async () => ({
    content: [
      { type: "text", text: "a caption" },
      { type: "image", data: PNG, mimeType: "image/png" },
      { type: "audio", data: Buffer.from("RIFF").toString("base64"), mimeType: "audio/wav" },
    ],
  }));
  add("documents", {}, async () => ({
    content: [
      { type: "resource", resource: { uri: "file:///a.txt", text: "inside", mimeType: "text/plain" } },
      { type: "resource", resource: { uri: "file:///b.png", blob: PNG, mimeType: "image/png" } },
      { type: "resource_link", name: "c", uri: "file:///c.txt" },
    ],
  }));
  add("half", {}, async () => text("cut 🎉".slice(0, 5)));
  add("nothing", {}, async () => ({ content: [] }));
  add("large", { inputSchema: { size: z.number() } }, async ({ size }) => text("ü".repeat(size)));
  add("explode", {}, async () => {
    throw new Error("the boiler exploded");
  });
  add("refuse", { inputSchema: { why: z.string() } }, async ({ why }) => ({ ...text(why), isError: true }));
  add("count", { inputSchema: { to: z.number() } }, async ({ to }, extra) => {
    const progressToken = extra._meta?.progressToken;
    for (let number = 1; number <= to; number += 1) {
      const params = { progressToken, progress: number, total: to, message: `step ${number}` };
      await extra.sendNotification({ method: "notifications/progress", params });
    }
    return text("counted");
  });
  add("wait", { inputSchema: { fifo: z.string() } }, ({ fifo }, extra) => {
    fs.appendFileSync(fifo, "started\n");
    return new Promise((resolve) => {
      extra.signal.addEventListener("abort", () => {
        fs.appendFileSync(fifo, "cancelled\n");
        resolve(text("never"));
      });
    });
  });
  add("grow", { inputSchema: { name: z.string() } }, async ({ name }) => {
    add(name, {}, async () => text("fresh"));
    return text("grown");
  });
  server.registerResource("readme", "foreign://readme", {}, async (uri) => ({
    contents: [{ uri: uri.href, text: "Read me." }],
  }));
  return server;
}

function overHttp(port) {
  const sessions = new Map();
  const streams = new Map();
  const listener = async (request, response) => {
    const url = new URL(request.url, "http://localhost");
    if (url.pathname === "/sse") {
      const transport = new SSEServerTransport("/messages", response);
      streams.set(transport.sessionId, transport);
      await create().connect(transport);
    } else if (url.pathname === "/messages") {
      await streams.get(url.searchParams.get("sessionId")).handlePostMessage(request, response);
    } else {
      let transport = sessions.get(request.headers["mcp-session-id"]);
      if (transport === undefined) {
        transport = new StreamableHTTPServerTransport({
          sessionIdGenerator: randomUUID,
          onsessioninitialized: (id) => sessions.set(id, transport),
        });
        await create().connect(transport);
      }
      await transport.handleRequest(request, response);
    }
  };
  http.createServer(listener).listen(port, "127.0.0.1", () => console.error("running on", port));
}

if (process.argv[2]) {
  overHttp(Number(process.argv[2]));
} else {
  create().connect(new StdioServerTransport());
}

//! The MCP server that the coordinator's two tools come from.
//!
//! Each tool is a server of its own on a path of its own: OpenCode calls a tool `<server>_<tool>`, and the two names are
//! part of the product (`spawn_reviewers`, `submit_review`). This is the only file that knows the MCP library.

use std::sync::Arc;

use axum::{
    Router,
    extract::{Request, State},
    http::{StatusCode, header},
    middleware::{self, Next},
    response::{IntoResponse, Response},
};
use conclave_engine::{
    ports::CoordinatorTools,
    session::{CoordinatorTool, TOOL_SPAWN_REVIEWERS, TOOL_SUBMIT_REVIEW},
};
use rmcp::{
    ErrorData, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, JsonObject, ListToolsResult,
        PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
    },
    service::{RequestContext, RoleServer},
    transport::streamable_http_server::{
        StreamableHttpServerConfig, StreamableHttpService, session::never::NeverSessionManager,
    },
};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use subtle::ConstantTimeEq;
use tokio_util::sync::CancellationToken;

/// The path of server `spawn`.
pub const SPAWN_PATH: &str = "/spawn";
/// The path of server `submit`.
pub const SUBMIT_PATH: &str = "/submit";

/// A running MCP server; it ends when this is dropped.
#[derive(Debug)]
pub struct McpHandle {
    /// Its address: `http://127.0.0.1:PORT`.
    pub address: String,
    stop: CancellationToken,
}

impl Drop for McpHandle {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

#[derive(Clone)]
struct Server {
    tool: CoordinatorTool,
    tools: Arc<dyn CoordinatorTools>,
}

impl Server {
    /// OpenCode puts the server's name and `_` in front of a tool's.
    fn tool(&self) -> Tool {
        let name = match self.tool {
            CoordinatorTool::SpawnReviewers => TOOL_SPAWN_REVIEWERS.trim_start_matches("spawn_"),
            CoordinatorTool::SubmitReview => TOOL_SUBMIT_REVIEW.trim_start_matches("submit_"),
        };
        let schema: JsonObject = self.tool.schema().as_object().cloned().unwrap_or_default();
        Tool::new(name, self.tool.description(), schema)
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(vec![self.tool()]))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if request.name != self.tool().name {
            return Err(ErrorData::invalid_params(
                format!("there is no tool `{}`", request.name),
                None,
            ));
        }
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        let answer = self.tool.call(self.tools.as_ref(), arguments).await;
        // A fault of the arguments is the model's to mend: it has to read it as the tool's result.
        Ok(match answer {
            Ok(value) => CallToolResult::success(vec![ContentBlock::text(value.to_string())]).into(),
            Err(error) => CallToolResult::error(vec![ContentBlock::text(error.to_string())]).into(),
        })
    }
}

/// Starts the server at this listener, which is bound to the loopback interface.
pub fn serve_tools(
    listener: tokio::net::TcpListener,
    tools: &Arc<dyn CoordinatorTools>,
    token: SecretString,
) -> Result<McpHandle, std::io::Error> {
    let stop = CancellationToken::new();
    let service = |tool| {
        let tools = Arc::clone(tools);
        let config = StreamableHttpServerConfig::default()
            .with_legacy_session_mode(false)
            .with_cancellation_token(stop.child_token());
        StreamableHttpService::new(
            move || {
                Ok(Server {
                    tool,
                    tools: Arc::clone(&tools),
                })
            },
            Arc::new(NeverSessionManager::default()),
            config,
        )
    };
    let router = Router::new()
        .nest_service(SPAWN_PATH, service(CoordinatorTool::SpawnReviewers))
        .nest_service(SUBMIT_PATH, service(CoordinatorTool::SubmitReview))
        .layer(middleware::from_fn_with_state(Arc::new(token), authorise));
    let address = listener.local_addr()?;
    tokio::spawn(conclave_loopback::serve(listener, router, stop.clone()));
    Ok(McpHandle {
        address: format!("http://{address}"),
        stop,
    })
}

async fn authorise(State(token): State<Arc<SecretString>>, request: Request, next: Next) -> Response {
    let presented = request
        .headers()
        .get(header::AUTHORIZATION)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.strip_prefix("Bearer "))
        .unwrap_or_default();
    if bool::from(presented.as_bytes().ct_eq(token.expose_secret().as_bytes())) {
        if let Some(caller) = request.extensions().get::<conclave_loopback::Caller>() {
            caller.has_proved_itself();
        }
        next.run(request).await
    } else {
        StatusCode::UNAUTHORIZED.into_response()
    }
}

import Foundation

/// Reads orders.
@MainActor
public final class Orders: ObservableObject {
    @Published private(set) var all: [Order] = []

    private let help = """
    usage: orders
      // no comment
    """

    public init() {}

    @discardableResult
    public func load(from url: URL) async throws -> Int {
        let (data, _) = try await URLSession.shared.data(from: url)
        guard !data.isEmpty else {
            throw OrderError.empty
        }
        all = try JSONDecoder()
            .decode([Order].self, from: data)
            .sorted { $0.number < $1.number }
        #if DEBUG
        print(all.count)
        #endif
        return all.count
    }
}

/* what can
   go wrong */
enum OrderError: Error {
    case empty
    case late(days: Int)
}

struct Order: Codable, Identifiable {
    var id: Int { number }
    let number: Int
    let state: String
}

extension Order: CustomStringConvertible {
    var description: String {
        switch state {
        case "open":
            return "open \(number)"
        default:
            return state
        }
    }
}

(ns shop.pool
  "A pool of connections.
  ; no comment"
  (:require [clojure.string :as string]
            [shop.log :as log]))

;; how long a caller waits
(def timeout 5000)

(defrecord Pool [free limit])

(defn make
  "Makes a pool."
  [limit]
  (->Pool (atom []) limit))

(defn take!
  [pool]
  (let [[before _] (swap-vals! (:free pool) rest)]
    (cond
      (empty? before)
      (throw (ex-info "empty" {:limit (:limit pool)}))

      (string/blank? (first before))
      (do
        (log/warn "blank")
        nil)

      :else
      (first before))))

(comment
  (take! (make 4)))
